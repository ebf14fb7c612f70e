import { Controller, Inject } from '@nestjs/common';
import {
  activatePlan,
  editPlan,
  type In,
  newPlan,
  type Plan as PlanView,
  publishPlan,
  unpublishPlan,
} from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, type Tx } from '@recur/platform';
import { checkTemplate } from '../checkouts/checkouts.js';
import type { Config } from '../config.js';
import { holdProduct } from '../products/products.js';
import { checkAddons, checkCurrency } from './addons.js';
import { planAggregate } from './aggregate.js';
import { activate, edit, publish, unpublish } from './domain/plan.js';
import { asAsked, type NewPlan, rowOf } from './input.js';
import { checkMetrics, checkMetricsExist } from './plan-metrics.js';
import { type PlanRow, plans } from './tables.js';
import { planView } from './views.js';

@Controller()
export class Plans {
  constructor(
    private readonly db: Db,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(newPlan)
  create(input: NewPlan, caller: Caller) {
    return this.db.write(caller, async tx => {
      await checkTemplate(tx, input.checkoutTemplateId);
      return { plan: await addPlan(tx, input, this.config, 'New') };
    });
  }

  @Handle(editPlan)
  edit({ planId, ...sent }: In<typeof editPlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = await tx.lock(planAggregate, { id: planId, deletedTime: 0 }, 'plan_not_found');
      const input = asAsked(plan, sent);
      const edited = edit(plan, rowOf(input), tx.now);
      if (!edited) return { plan: planView(plan) };
      const repriced = edited.currency !== plan.currency;
      // add-ons are checked again only when they are sent or the currency changes
      const toCheck = (field: 'addonIds' | 'onetimeAddonIds') => (repriced || sent[field] ? input[field] : []);
      const [addons] = await Promise.all([
        checkAddons(tx, {
          ...input,
          addonIds: toCheck('addonIds'),
          onetimeAddonIds: toCheck('onetimeAddonIds'),
          autoUpgradePlanId: sent.autoUpgradePlanId ?? 0,
        }),
        repriced && checkCurrency(tx, plan),
        checkTemplate(tx, edited.checkoutTemplateId, plan.checkoutTemplateId),
      ]);
      if (sent.productId !== undefined) await holdProduct(tx, sent.productId);
      await checkMetrics(tx, sent);
      tx.onConflict('plans_external_id', externalIdTaken);
      const { view } = tx.step(planAggregate, edited, 'plan.updated', { log: 'Edit' });
      if (edited.status === 'active') await activateAll(tx, addons);
      return { plan: view };
    });
  }

  @Handle(activatePlan)
  activate(name: In<typeof activatePlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = await lockPlan(tx, name);
      if (plan.status === 'active') return {};
      // lock order: a main plan, then its add-ons by id; add-ons have none of their own, so there is no deadlock
      const ids = plan.addonIds.toSorted((a, b) => a - b);
      const addons = await Promise.all(ids.map(id => tx.lock(planAggregate, id, 'plan_not_found')));
      await activateAll(tx, [plan, ...addons]);
      tx.log(`Plan(${plan.id})`, 'Activate', { planId: plan.id });
      return {};
    });
  }

  @Handle(publishPlan)
  publish(name: In<typeof publishPlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const published = publish(await lockPlan(tx, name), tx.now);
      if (published) tx.step(planAggregate, published, 'plan.published', { log: 'Publish' });
      return {};
    });
  }

  @Handle(unpublishPlan)
  unpublish(name: In<typeof unpublishPlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const unpublished = unpublish(await lockPlan(tx, name), tx.now);
      if (unpublished) tx.step(planAggregate, unpublished, 'plan.unpublished', { log: 'Unpublish' });
      return {};
    });
  }
}

/** Creates a plan from an input; `log` is the content of its log entry. Returns its view. */
export async function addPlan(tx: Tx, input: NewPlan, config: Config, log: string): Promise<PlanView> {
  // lock order: plans, then the product, then metrics
  const [id] = await Promise.all([tx.nextId(plans), checkAddons(tx, input)]);
  await holdProduct(tx, input.productId);
  await checkMetrics(tx, input);
  const plan: PlanRow = {
    ...rowOf(input),
    merchantId: tx.merchantId,
    id,
    version: 0,
    status: 'editing',
    publishStatus: 'unpublished',
    checkoutUrl: `${config.PORTAL_BASE}/checkout?planId=${id}&env=${config.RECUR_ENV}`,
    createTime: tx.now,
    modifyTime: tx.now,
    deletedTime: 0,
    priceChange: null,
  };
  tx.onConflict('plans_external_id', externalIdTaken);
  return tx.step(planAggregate, plan, 'plan.created', { log }).view;
}

/** A plan by either id; when both are given, they must belong to one plan. */
export interface PlanName {
  planId?: number | undefined;
  externalPlanId?: string | undefined;
}

export const wherePlan = ({ planId, externalPlanId = '' }: PlanName) => ({
  ...(planId ? { id: planId } : { externalPlanId }),
  deletedTime: 0,
});

export function checkName(plan: PlanRow, { externalPlanId }: PlanName): PlanRow {
  if (!externalPlanId || plan.externalPlanId === externalPlanId) return plan;
  throw invalid('/externalPlanId', `is not the externalPlanId of plan ${plan.id}`);
}

/** Locks a plan by either id. */
export const lockPlan = async (tx: Tx, name: PlanName) =>
  checkName(await tx.lock(planAggregate, wherePlan(name), 'plan_not_found'), name);

const externalIdTaken = () => invalid('/externalPlanId', 'is the externalPlanId of another plan');

/** Activates plans; those that are active already emit no event. */
export async function activateAll(tx: Tx, all: readonly PlanRow[]): Promise<void> {
  await checkMetricsExist(tx, all);
  for (const activated of all.flatMap(plan => activate(plan, tx.now) ?? [])) {
    tx.step(planAggregate, activated, 'plan.activated');
  }
}
