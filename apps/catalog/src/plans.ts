import { Inject, Injectable } from '@nestjs/common';
import {
  activatePlan,
  editPlan,
  type In,
  newPlan,
  noYes,
  planType,
  publishPlan,
  unpublishPlan,
  validate,
} from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { bindAddons } from './addons.js';
import type { Config } from './config.js';
import { activate, edit, publish, unpublish } from './domain/plan.js';
import { findProduct } from './products.js';
import { type PlanRow, plans } from './tables.js';
import { named, planView, usVatConfigOf } from './views.js';

type NewPlan = In<typeof newPlan>;

@Injectable()
export class Plans {
  constructor(
    private readonly db: Db,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(newPlan)
  create(input: NewPlan, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [id, , addons] = await Promise.all([tx.nextId(plans), checkProduct(tx, input), bindAddons(tx, input)]);
      checkMetrics(input);
      const plan: PlanRow = {
        ...described(input),
        ...priced(input),
        ...addons,
        merchantId: tx.merchantId,
        id,
        version: 0,
        status: 'editing',
        publishStatus: 'unpublished',
        checkoutUrl: `${this.config.PORTAL_BASE}/checkout?planId=${id}&env=${this.config.RECUR_ENV}`,
        createTime: tx.now,
        modifyTime: tx.now,
      };
      const view = planView(plan);
      tx.onConflict('plans_external_id', externalIdTaken);
      tx.save(plans, plan);
      tx.emit('plan.created', plan, view);
      tx.log(`Plan(${id})`, 'New', { planId: id });
      return { plan: view };
    });
  }

  @Handle(editPlan)
  edit({ planId, ...sent }: In<typeof editPlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = await tx.lock(plans, { id: planId }, 'plan_not_found');
      const input = asAsked(plan, sent);
      // what was bound once stays so, whatever has become of it meanwhile
      const rebinds = rebinding.some(field => sent[field] !== undefined);
      const [addons] = await Promise.all([
        rebinds ? bindAddons(tx, input) : undefined,
        sent.productId !== undefined ? checkProduct(tx, input) : undefined,
      ]);
      checkMetrics(input);
      const edited = edit(plan, { ...described(input), ...priced(input), ...addons }, tx.now);
      if (!edited) return { plan: planView(plan) };
      const view = planView(edited);
      tx.onConflict('plans_external_id', externalIdTaken);
      tx.save(plans, edited);
      tx.emit('plan.updated', edited, view);
      tx.log(`Plan(${planId})`, 'Edit', { planId });
      return { plan: view };
    });
  }

  @Handle(activatePlan)
  activate(name: In<typeof activatePlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = await lock(tx, name);
      const activated = activate(plan, tx.now);
      if (!activated) return {};
      // lock order: a main plan, then its add-ons by id; add-ons have none of their own, so nobody waits in a circle
      const ids = plan.addonIds.toSorted((a, b) => a - b);
      const addons = await Promise.all(ids.map(id => tx.lock(plans, { id }, 'plan_not_found')));
      for (const each of [activated, ...addons.flatMap(addon => activate(addon, tx.now) ?? [])]) {
        tx.save(plans, each);
        tx.emit('plan.activated', each, planView(each));
      }
      tx.log(`Plan(${plan.id})`, 'Activate', { planId: plan.id });
      return {};
    });
  }

  @Handle(publishPlan)
  publish(name: In<typeof publishPlan>, caller: Caller) {
    return this.show(caller, name, publish, 'plan.published', 'Publish');
  }

  @Handle(unpublishPlan)
  unpublish(name: In<typeof unpublishPlan>, caller: Caller) {
    return this.show(caller, name, unpublish, 'plan.unpublished', 'Unpublish');
  }

  private show(caller: Caller, name: PlanName, step: typeof publish, event: string, what: string) {
    return this.db.write(caller, async tx => {
      const shown = step(await lock(tx, name), tx.now);
      if (!shown) return {};
      tx.save(plans, shown);
      tx.emit(event, shown, planView(shown));
      tx.log(`Plan(${shown.id})`, what, { planId: shown.id });
      return {};
    });
  }
}

/** A plan by either of its ids; where both are given, they are of one plan. */
export interface PlanName {
  planId?: number | undefined;
  externalPlanId?: string | undefined;
}

export const wherePlan = ({ planId, externalPlanId }: PlanName) =>
  planId ? { id: planId } : { externalPlanId: externalPlanId ?? '' };

export function checkName(plan: PlanRow, { externalPlanId }: PlanName): PlanRow {
  if (!externalPlanId || plan.externalPlanId === externalPlanId) return plan;
  throw invalid('/externalPlanId', `is not the externalPlanId of plan ${plan.id}`);
}

const lock = async (tx: Tx, name: PlanName) => checkName(await tx.lock(plans, wherePlan(name), 'plan_not_found'), name);

const externalIdTaken = () => invalid('/externalPlanId', 'is the externalPlanId of another plan');

const rebinding = ['addonIds', 'onetimeAddonIds', 'autoUpgradePlanId', 'currency'] as const;

/** The input that would make the plan as it is to be: checked as a new one, so that an edit makes nothing else. */
function asAsked(plan: PlanRow, sent: object): NewPlan {
  const { addonIds, onetimeAddonIds, productName, productDescription } = plan;
  const { usVATConfig, ...view } = planView(plan);
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined));
  const whole = {
    ...view,
    usVATConfig: usVATConfig ?? undefined,
    addonIds,
    onetimeAddonIds,
    productName,
    productDescription,
  };
  const checked = validate(newPlan.input, { ...whole, ...given });
  if (!checked.ok) throw new Rejected('invalid_parameters', undefined, checked.issues);
  return checked.value;
}

/**
 * A plan belongs to a product that exists, or to the default product. The `productName` and `productDescription` that
 * come with it are texts of the plan, whatever its productId: they neither rename a product nor make one, since
 * product/new and product/edit do that and the plan's answer could not show it.
 */
async function checkProduct(reader: Reader, { productId }: NewPlan): Promise<void> {
  await findProduct(reader, productId);
}

/** There are no metrics yet, so whatever names one names an unknown one. */
function checkMetrics(input: NewPlan): void {
  const issues = (['metricLimits', 'metricMeteredCharge', 'metricRecurringCharge'] as const).flatMap(field =>
    input[field].map((_, at): Issue => ({ path: `/${field}/${at}/metricId`, message: 'names no metric' })),
  );
  if (issues.length > 0) throw new Rejected('metric_not_found', undefined, issues);
}

/** What the plan is called and how it is shown. */
function described(input: NewPlan) {
  const { productId, planName, internalName, description, externalPlanId, homeUrl, imageUrl, metadata } = input;
  const { productName, productDescription, checkoutTemplateId } = input;
  return {
    productId,
    planName,
    internalName,
    description,
    externalPlanId,
    homeUrl,
    imageUrl,
    metadata,
    productName,
    productDescription,
    checkoutTemplateId,
  };
}

/** What is charged for it, and when. */
function priced(input: NewPlan) {
  const { currency, intervalUnit, intervalCount, trialDemand, gasPayer, multiCurrencies, multiTrials } = input;
  const { metricLimits, metricMeteredCharge, metricRecurringCharge } = input;
  return {
    type: named(planType, input.type),
    currency,
    amount: BigInt(input.amount),
    compareAtAmount: BigInt(input.compareAtAmount),
    intervalUnit,
    intervalCount,
    trialAmount: BigInt(input.trialAmount),
    trialDurationSeconds: input.trialDurationTime,
    trialDemand,
    cancelAtTrialEnd: input.cancelAtTrialEnd === noYes.yes,
    disableAutoCharge: input.disableAutoCharge === noYes.yes,
    gasPayer,
    metricLimits,
    metricMeteredCharge,
    metricRecurringCharge,
    multiCurrencies,
    multiTrials,
    usVatConfig: usVatConfigOf(input.usVATConfig),
  };
}
