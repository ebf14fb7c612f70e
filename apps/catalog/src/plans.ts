import { Inject, Injectable } from '@nestjs/common';
import { activatePlan, type In, newPlan, noYes, planType } from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, type Reader } from '@recur/platform';
import { bindAddons } from './addons.js';
import type { Config } from './config.js';
import { activate } from './domain/plan.js';
import { DEFAULT_PRODUCT } from './products.js';
import { type PlanRow, plans, products } from './tables.js';
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
      tx.onConflict('plans_external_id', () => invalid('/externalPlanId', 'is the externalPlanId of another plan'));
      tx.save(plans, plan);
      tx.emit('plan.created', plan, view);
      tx.log(`Plan(${id})`, 'New', { planId: id });
      return { plan: view };
    });
  }

  @Handle(activatePlan)
  activate({ planId, externalPlanId }: In<typeof activatePlan>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const plan = await tx.lock(plans, planId ? { id: planId } : { externalPlanId }, 'plan_not_found');
      if (externalPlanId && plan.externalPlanId !== externalPlanId) {
        throw invalid('/externalPlanId', `is not the externalPlanId of plan ${plan.id}`);
      }
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
}

/**
 * A plan belongs to a product that exists, or to the default product. The `productName` and `productDescription` that
 * come with it are texts of the plan, whatever its productId: they neither rename a product nor make one, since
 * product/new and product/edit do that and the plan's answer could not show it.
 */
async function checkProduct(reader: Reader, { productId }: NewPlan): Promise<void> {
  if (productId !== DEFAULT_PRODUCT) {
    await reader.get(products, { id: productId, deletedTime: 0 }, 'product_not_found');
  }
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
