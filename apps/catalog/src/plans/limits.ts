import { Controller } from '@nestjs/common';
import { deletePlanLimit, editPlanLimit, type In, limits, newPlanLimit } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { findMetric } from '../metrics/metrics.js';
import { planAggregate } from './aggregate.js';
import { edit } from './domain/plan.js';
import { checkMetrics } from './plan-metrics.js';
import { type PlanMetricRow, type PlanRow, planMetrics } from './tables.js';
import { limitView } from './views.js';

/** Single limits of plans. A limit is an entry of its plan's `metricLimits`, so each command edits the plan. */
@Controller()
export class PlanLimits {
  constructor(private readonly db: Db) {}

  @Handle(newPlanLimit)
  create({ planId, metricId, metricLimit }: In<typeof newPlanLimit>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [id, plan] = await Promise.all([
        tx.nextId(planMetrics),
        tx.lock(planAggregate, { id: planId, deletedTime: 0 }, 'plan_not_found'),
      ]);
      await checkMetric(tx, metricId);
      if (plan.metricLimits.some(limit => limit.metricId === metricId)) {
        throw invalid('/metricId', `is already limited by plan ${planId}`);
      }
      if (plan.metricLimits.length >= limits.entries) {
        throw invalid('/planId', `names a plan that already has ${limits.entries} limits`);
      }
      const times = { createTime: tx.now, modifyTime: tx.now };
      const limit: PlanMetricRow = {
        merchantId: tx.merchantId,
        planId,
        use: 'limit',
        metricId,
        id,
        metricLimit,
        ...times,
      };
      // the row that the trigger would insert; inserted here because the answer needs its id
      tx.save(planMetrics, limit);
      change(tx, plan, [...plan.metricLimits, { metricId, metricLimit }], 'NewMetricLimit');
      return limitAnswer(tx, limit);
    });
  }

  @Handle(editPlanLimit)
  edit({ metricPlanLimitId, metricLimit }: In<typeof editPlanLimit>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { limit, plan } = await lockLimit(tx, metricPlanLimitId);
      const all = plan.metricLimits.map(one => (one.metricId === limit.metricId ? { ...one, metricLimit } : one));
      const changed = change(tx, plan, all, 'EditMetricLimit');
      return limitAnswer(tx, changed ? { ...limit, metricLimit, modifyTime: tx.now } : limit);
    });
  }

  @Handle(deletePlanLimit)
  delete({ metricPlanLimitId }: In<typeof deletePlanLimit>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { limit, plan } = await lockLimit(tx, metricPlanLimitId);
      const others = plan.metricLimits.filter(({ metricId }) => metricId !== limit.metricId);
      change(tx, plan, others, 'DeleteMetricLimit');
      return limitAnswer(tx, limit);
    });
  }
}

/** Locks the plan of a limit, which guards all its limits, and reads the limit again under the lock. */
async function lockLimit(tx: Tx, id: number): Promise<{ limit: PlanMetricRow; plan: PlanRow }> {
  const named = await tx.get(planMetrics, { id, use: 'limit' }, 'plan_limit_not_found');
  const plan = await tx.lock(planAggregate, { id: named.planId, deletedTime: 0 }, 'plan_limit_not_found');
  return { limit: await tx.get(planMetrics, { id, use: 'limit' }, 'plan_limit_not_found'), plan };
}

async function checkMetric(tx: Tx, metricId: number): Promise<void> {
  try {
    await checkMetrics(tx, { metricLimits: [{ metricId }] });
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const issues = error.issues.map(({ message }) => ({ path: '/metricId', message }));
    throw new Rejected(error.slug, error.message, issues);
  }
}

/** Replaces the limits of a plan; false when nothing changes. */
function change(tx: Tx, plan: PlanRow, metricLimits: PlanRow['metricLimits'], log: string): boolean {
  const edited = edit(plan, { metricLimits }, tx.now);
  if (edited) tx.step(planAggregate, edited, 'plan.updated', { log });
  return edited !== undefined;
}

const limitAnswer = async (tx: Tx, limit: PlanMetricRow) => ({
  merchantMetricPlanLimit: limitView(limit, await findMetric(tx, limit.metricId)),
});
