import { createHash } from 'node:crypto';
import { type Client, orThrow, RecurError } from '@recur/client';
import { discountBillingType, discountStatus, discountType, planStatus, planType } from '@recur/contracts';
import type { Exported } from './folder.js';
import { codeOf, type Going, type Move, type PlanOf } from './moved.js';
import type { Reduction } from './next.js';
import type { Coupon } from './objects.js';

/** Plans and codes that cannot be made here, with the reasons. */
export interface Refused {
  plans: ReadonlyMap<string, string>;
  codes: ReadonlyMap<string, string>;
}

/** Makes the products, plans and codes of a move, each once: those that are there already are left as they are. */
export async function makeCatalog(api: Client, move: Pick<Move, 'going' | 'over'>, all: Exported): Promise<Refused> {
  return { plans: await makePlans(api, move, all), codes: await makeCodes(api, move.going) };
}

async function makePlans(api: Client, { going, over }: Pick<Move, 'going' | 'over'>, all: Exported) {
  const combined = [...going, ...over].map(({ plans }) => plans);
  const plans = [...new Map(combined.flat().map(plan => [plan.externalPlanId, plan])).values()];
  const known = new Map<string, Known>();
  for (const { externalPlanId } of plans) {
    const plan = await planCalled(api, externalPlanId);
    if (plan) known.set(externalPlanId, plan);
  }
  const products = new Map(
    plans.flatMap(({ externalPlanId, price }) => {
      const plan = known.get(externalPlanId);
      return plan ? [[price.product, plan.productId] as const] : [];
    }),
  );
  const refused = new Map<string, string>();
  // add-ons are made first: a plan names its own
  for (const plan of plans.toSorted((a, b) => Number(b.isAddon) - Number(a.isAddon))) {
    const { externalPlanId, price } = plan;
    const beside = combined.filter(([main]) => main?.externalPlanId === externalPlanId).flat();
    const addons = new Set(beside.filter(({ isAddon }) => isAddon).map(addon => addon.externalPlanId));
    const addonIds = [...addons].flatMap(id => known.get(id)?.id ?? []);
    const reason = await refusalOf(async () => {
      const before = known.get(externalPlanId);
      if (before) return bind(api, before, addonIds);
      const productId = products.get(price.product) ?? (await makeProduct(api, price.product, all));
      products.set(price.product, productId);
      known.set(externalPlanId, { id: await makePlan(api, plan, { productId, addonIds }, all), productId, addonIds });
    });
    if (reason) refused.set(externalPlanId, reason);
  }
  return refused;
}

/** Why an object is refused, undefined where it is not. Throws where the reason is not the object. */
async function refusalOf(make: () => Promise<void>): Promise<string | undefined> {
  try {
    await make();
    return undefined;
  } catch (error) {
    if (!(error instanceof RecurError) || ![400, 404, 409, 422].includes(error.failure.status)) throw error;
    const { issues, message } = error.failure;
    return issues.length > 0 ? issues.map(issue => issue.message).join('; ') : message;
  }
}

interface Known {
  id: number;
  productId: number;
  addonIds: readonly number[];
}

/** The end of the codes' time: only subscriptions that are imported have them, as at Stripe nobody enters a coupon. */
const LONG_AGO = 1;

async function planCalled(api: Client, externalPlanId: string): Promise<Known | undefined> {
  const answer = await api.get('/merchant/plan/detail', { externalPlanId });
  if (!answer.ok && answer.error.type === 'plan_not_found') return undefined;
  const { plan, addonIds } = orThrow(answer).plan;
  // a move may have been broken off in between
  if (plan.status === planStatus.editing) orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
  return { id: plan.id, productId: plan.productId, addonIds };
}

async function bind(api: Client, { id, addonIds: bound }: Known, addonIds: readonly number[]): Promise<void> {
  const missing = addonIds.filter(each => !bound.includes(each));
  if (missing.length > 0) {
    orThrow(await api.post('/merchant/plan/edit', { planId: id, addonIds: [...bound, ...missing] }));
  }
}

async function makeProduct(api: Client, id: string, all: Exported): Promise<number> {
  const { name = id, description } = all.products.get(id) ?? {};
  const input = { productName: name, description: description ?? '', metadata: { stripeProduct: id } };
  // the same where a move that was broken off before its plan was made is run again
  const idempotencyKey = createHash('sha256').update(JSON.stringify(input)).digest('hex');
  return orThrow(await api.post('/merchant/product/new', input, { idempotencyKey })).product.id;
}

async function makePlan(
  api: Client,
  { externalPlanId, price, currency, isAddon, amount }: PlanOf,
  { productId, addonIds }: { productId: number; addonIds: number[] },
  all: Exported,
): Promise<number> {
  const planName = [all.products.get(price.product)?.name, price.nickname].filter(Boolean).join(', ') || price.id;
  const { interval = 'month', interval_count: intervalCount = 1 } = price.recurring ?? {};
  const { plan } = orThrow(
    await api.post('/merchant/plan/new', {
      planName,
      externalPlanId,
      productId,
      addonIds,
      amount: Number(amount),
      currency: currency.toUpperCase(),
      intervalUnit: interval,
      intervalCount,
      type: isAddon ? planType.recurringAddon : planType.main,
    }),
  );
  orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
  return plan.id;
}

async function makeCodes(api: Client, going: readonly Going[]) {
  const refused = new Map<string, string>();
  const reductions = going.flatMap(({ reduction }) => (reduction ? [reduction] : []));
  for (const [code, reduction] of new Map(reductions.map(each => [codeOf(each), each]))) {
    const reason = await refusalOf(async () => {
      const { discounts } = orThrow(await api.get('/merchant/discount/list', { code }));
      const { id, status } = discounts.find(each => each.code === code) ?? (await makeCode(api, code, reduction));
      if (status === discountStatus.editable) orThrow(await api.post('/merchant/discount/activate', { id }));
    });
    if (reason) refused.set(code, reason);
  }
  return refused;
}

async function makeCode(api: Client, code: string, { coupon, cycles }: Reduction) {
  const answer = await api.post('/merchant/discount/new', {
    code,
    name: coupon.name ?? '',
    billingType: discountBillingType.recurring,
    cycleLimit: cycles,
    startTime: 0,
    endTime: LONG_AGO,
    metadata: { stripeCoupon: coupon.id },
    ...sizeOf(coupon),
  });
  return orThrow(answer).discount;
}

const sizeOf = ({ percent_off: percentage, amount_off: amount, currency }: Coupon) =>
  percentage
    ? { discountType: discountType.percentage, discountPercentage: Math.round(percentage * 100) }
    : { discountType: discountType.fixedAmount, discountAmount: amount ?? 0, currency: (currency ?? '').toUpperCase() };
