import type { MerchantMetricPlanChargeDetail, MetricPlanLimit } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { fitting, type MetricLists, type MetricType, misnamed } from './domain/metric.js';
import { type MetricRow, metrics, planMetrics } from './metric-tables.js';
import { limitView, metricView } from './metric-views.js';
import type { PlanRow } from './tables.js';

/**
 * Checks the metrics that an input names, which stay as they are until the commit. All fields at fault are named. Throws
 * Rejected `metric_not_found` where there is none or it is deleted, and `invalid_parameters` where it is of a type that
 * the list does not take, or stands in the list twice.
 */
export async function checkMetrics(tx: Tx, lists: MetricLists): Promise<void> {
  const { unknown, unfit } = misnamed(lists, await holdMetrics(tx, [lists]));
  if (unknown.length > 0) throw new Rejected('metric_not_found', undefined, unknown);
  if (unfit.length > 0) throw new Rejected('invalid_parameters', undefined, unfit);
}

/**
 * Checks the metrics of plans that are about to become active: since they were named they may have been deleted, or got
 * another type. Throws Rejected `plan_not_activatable`, naming the fields.
 */
export async function checkStillThere(tx: Tx, plans: readonly PlanRow[]): Promise<void> {
  const inactive = plans.filter(({ status }) => status !== 'active');
  const types = await holdMetrics(tx, inactive);
  for (const plan of inactive) {
    const { unknown, unfit } = misnamed(plan, types);
    const issues = [...unknown, ...unfit];
    const why = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
    const message = `Plan ${plan.id} is ${plan.status}: cannot activate it before its metrics are set right: ${why}`;
    if (issues.length > 0) throw new Rejected('plan_not_activatable', message, issues);
  }
}

/**
 * Locks the metrics that are named, so that none is deleted or gets another type before the commit; answers the types of
 * those that there are. Lock order: plans first, then metrics by id. Who deletes a metric locks no plan, so nobody waits
 * in a circle; plans that name the same metric do not wait for each other.
 */
async function holdMetrics(tx: Tx, named: readonly MetricLists[]): Promise<Map<number, MetricType>> {
  const ids = named.flatMap(idsIn);
  if (ids.length === 0) return new Map();
  const rows = await tx.run(
    `select id, type from metrics where merchant_id = $1 and id = any($2) and deleted_time = 0 order by id for share`,
    [tx.merchantId, [...new Set(ids)]],
  );
  return new Map(rows.map(({ id, type }) => [Number(id), type as MetricType]));
}

/** What of a plan names metrics that it could name today: none that was deleted, or has become of another type. */
export async function metricsLeft(reader: Reader, plan: PlanRow) {
  const rows = await reader.among(metrics, 'id', idsIn(plan));
  const types = new Map(rows.filter(({ deletedTime }) => deletedTime === 0).map(({ id, type }) => [id, type]));
  const left = (list: keyof typeof fitting) => {
    const takes: readonly (MetricType | undefined)[] = fitting[list];
    return ({ metricId }: { metricId: number }) => takes.includes(types.get(metricId));
  };
  return {
    metricLimits: plan.metricLimits.filter(left('metricLimits')),
    metricMeteredCharge: plan.metricMeteredCharge.filter(left('metricMeteredCharge')),
    metricRecurringCharge: plan.metricRecurringCharge.filter(left('metricRecurringCharge')),
  };
}

const lists = Object.keys(fitting) as (keyof typeof fitting)[];
const idsIn = (of: MetricLists) => lists.flatMap(list => (of[list] ?? []).map(({ metricId }) => metricId));

/** What the details of plans show of their metrics. */
export interface PlanMetrics {
  limits(plan: PlanRow): MetricPlanLimit[];
  charge(of: PlanRow['metricMeteredCharge'][number]): MerchantMetricPlanChargeDetail;
}

/** Two questions for all plans: their limits, and the metrics. */
export async function metricsOf(reader: Reader, plans: readonly PlanRow[]): Promise<PlanMetrics> {
  const limited = plans.filter(({ metricLimits }) => metricLimits.length > 0);
  const [uses, rows] = await Promise.all([
    reader.among(
      planMetrics,
      'planId',
      limited.map(({ id }) => id),
    ),
    reader.among(metrics, 'id', plans.flatMap(idsIn)),
  ]);
  const metric = new Map<number, MetricRow>(rows.map(row => [row.id, row]));
  const limit = new Map(uses.filter(({ use }) => use === 'limit').map(row => [`${row.planId} ${row.metricId}`, row]));
  return {
    limits: plan =>
      plan.metricLimits.flatMap(({ metricId }) => {
        const row = limit.get(`${plan.id} ${metricId}`);
        return row ? [limitView(row, metric.get(metricId))] : [];
      }),
    charge: of => {
      const row = metric.get(of.metricId);
      return { ...of, merchantMetric: row ? metricView(row) : null };
    },
  };
}
