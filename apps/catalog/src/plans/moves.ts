import { Controller, Inject } from '@nestjs/common';
import {
  addonsAction,
  archivePlan,
  bindAddons,
  copyPlan,
  deletePlan,
  type In,
  limits,
  planType,
} from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, type Reader } from '@recur/platform';
import { liveTemplate } from '../checkouts/checkouts.js';
import { nameOfCode } from '../codes.js';
import type { Config } from '../config.js';
import { neededIds } from '../domain/id-list.js';
import { buyersOf, checkAddons } from './addons.js';
import { planAggregate } from './aggregate.js';
import { archive, edit, remove } from './domain/plan.js';
import { asAsked, type NewPlan } from './input.js';
import { validMetrics } from './plan-metrics.js';
import { activateAll, addPlan, checkName, lockPlan, wherePlan } from './plans.js';
import { type PlanRow, plans } from './tables.js';
import { planView } from './views.js';

/** Archives, deletes and copies plans, and binds add-ons to them. */
@Controller()
export class PlanMoves {
  constructor(
    private readonly db: Db,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(archivePlan)
  archive({ hardArchive, ...name }: In<typeof archivePlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const archived = archive(await lockPlan(tx, name), hardArchive, tx.now);
      const log = hardArchive ? 'HardArchive' : 'Archive';
      if (archived) tx.step(planAggregate, archived, 'plan.archived', { log });
      return {};
    });
  }

  @Handle(deletePlan)
  delete(name: In<typeof deletePlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // binding it to a plan would need the lock held here
      const plan = await lockPlan(tx, name);
      const deleted = remove(plan, await buyersOf(tx, plan, neededIds), tx.now);
      tx.step(planAggregate, deleted, 'plan.deleted', { log: 'Delete' });
      return {};
    });
  }

  @Handle(copyPlan)
  copy(name: In<typeof copyPlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = checkName(await tx.get(plans, wherePlan(name), 'plan_not_found'), name);
      return { plan: await addPlan(tx, await asCopied(tx, plan), this.config, `Copy: ${plan.id}`) };
    });
  }

  @Handle(bindAddons)
  bind({ action, addonIds, onetimeAddonIds, ...name }: In<typeof bindAddons>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = await lockPlan(tx, name);
      const what = nameOfCode(addonsAction, action);
      const asked = {
        addonIds: rebound[what](plan.addonIds, addonIds),
        onetimeAddonIds: rebound[what](plan.onetimeAddonIds, onetimeAddonIds),
      };
      const bound = edit(plan, asked, tx.now);
      if (!bound) return { plan: planView(plan) };
      if (what === 'add') checkCounts(bound);
      // add-ons to remove are not checked: they may be archived or deleted by now
      const binds = (ids: readonly number[] = []) => (what === 'remove' ? [] : [...ids]);
      const addons = await checkAddons(tx, {
        type: planType[plan.type],
        currency: plan.currency,
        addonIds: binds(addonIds),
        onetimeAddonIds: binds(onetimeAddonIds),
        autoUpgradePlanId: 0,
      });
      const { view } = tx.step(planAggregate, bound, 'plan.updated', { log: 'BindAddons' });
      if (bound.status === 'active') await activateAll(tx, addons);
      return { plan: view };
    });
  }
}

type Rebinding = (bound: readonly number[], sent: readonly number[] | undefined) => number[];

/** Ids bound afterwards, without duplicates and in order; a list that is not sent stays as it is. */
const rebound: Record<keyof typeof addonsAction, Rebinding> = {
  override: (bound, sent = bound) => [...new Set(sent)],
  add: (bound, sent = []) => [...new Set([...bound, ...sent])],
  remove: (bound, sent = []) => bound.filter(id => !sent.includes(id)),
};

/** Limits the add-ons of a plan: an input is limited by its contract, but several could add up. */
function checkCounts(bound: PlanRow): void {
  for (const field of ['addonIds', 'onetimeAddonIds'] as const) {
    const { length } = bound[field];
    if (length > limits.entries) {
      const message = `would bind ${length} add-ons to plan ${bound.id}, which can have ${limits.entries} at most`;
      throw invalid(`/${field}`, message);
    }
  }
}

/**
 * Input that would create a copy. References that are no longer valid are left out: add-ons that are hard-archived or
 * priced in another currency, a deleted upgrade, deleted metrics, an archived template.
 */
async function asCopied(reader: Reader, plan: PlanRow): Promise<NewPlan> {
  const { autoUpgradePlanId, checkoutTemplateId } = plan;
  const [others, template, ofMetrics] = await Promise.all([
    reader.among(plans, 'id', [...plan.addonIds, ...plan.onetimeAddonIds, autoUpgradePlanId]),
    liveTemplate(reader, checkoutTemplateId),
    validMetrics(reader, plan),
  ]);
  const fitting = new Set(
    others
      .filter(({ status, currency }) => status !== 'hardArchived' && currency === plan.currency)
      .map(({ id }) => id),
  );
  const upgrade = others.find(({ id, deletedTime }) => id === autoUpgradePlanId && deletedTime === 0);
  return {
    ...asAsked(plan, ofMetrics),
    externalPlanId: '',
    addonIds: plan.addonIds.filter(id => fitting.has(id)),
    onetimeAddonIds: plan.onetimeAddonIds.filter(id => fitting.has(id)),
    autoUpgradePlanId: upgrade ? autoUpgradePlanId : 0,
    checkoutTemplateId: template ? checkoutTemplateId : 0,
  };
}
