import type { Plan } from '@recur/contracts';
import { boundary, invalid } from '@recur/kernel';
import type { Caller, Tx } from '@recur/platform';
import { ownMerchant } from '../../customers/merchants.js';
import { assertSellable, plansById } from '../../customers/plans.js';
import { findUser } from '../../customers/users.js';
import { chooseGateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/lookup.js';
import { compose } from '../../invoicing/composed/compose.js';
import type { Bill } from '../../invoicing/composed/domain/bill.js';
import { soldLines } from '../../invoicing/composed/sold-lines.js';
import type { Stretch } from '../../pricing/proration.js';
import { changeBill, termsOf, updated, updateTo } from '../domain/apply-change.js';
import { cycleBill } from '../domain/bill.js';
import { changeLines, type PaidPeriod } from '../domain/change-bill.js';
import * as rules from '../domain/changes.js';
import { assertChoice, type Choice, intervalOf } from '../domain/items.js';
import type { PeriodRow } from '../domain/periods.js';
import { planOf, type Subscription } from '../domain/subscription.js';
import { periodsFrom } from '../periods.js';
import { settingsOf } from '../settings.js';
import type { Settings } from '../tables.js';
import { addonParamsOf } from '../views.js';
import type { BilledLines, ChangeInput, ChangeQuote } from './change-quote.js';
import { discountOf } from './discount.js';

/**
 * Quotes a change of a subscription. Nothing is saved; in a submit the subscription is locked, and the documents that are
 * credited get locked. Throws Rejected or Stale for a change that cannot be made.
 */
export async function quoteChange(tx: Tx, sub: Subscription, input: ChangeInput, caller: Caller): Promise<ChangeQuote> {
  const [choice, all, settings, merchant, user] = await Promise.all([
    choiceOf(tx, sub, input),
    allGateways(tx),
    settingsOf(tx),
    ownMerchant(tx),
    findUser(tx, { userId: sub.userId }),
  ]);
  const gateway = chooseGateway(all, input.gatewayId, sub.gatewayId || (user?.gatewayId ?? 0));
  const bounds = { start: sub.currentPeriodStart, end: sub.currentPeriodEnd };
  const at = sub.status === 'incomplete' ? tx.now : rules.prorationDateOf(input.prorationDate, tx.now, bounds);
  const periods = await periodsFrom(tx, sub.subscriptionId, at);
  if (sub.status === 'active' && at >= sub.currentPeriodEnd) throw rules.betweenPeriods(sub.subscriptionId);
  const mode = rules.modeOf({ ...stateOf(sub), inTrial: isTrial(periods[0]) });
  const update = updateTo(sub, choice, 'upgrade');
  const plan = planned(sub, updated(sub, update), mode, input, settings);
  if (plan.effect === 'periodEnd') rules.assertDeferrable(stateOf(sub));
  const given = caller.actor.kind === 'key' ? (input.taxPercentage ?? 0) : 0;
  const after = { ...updated(sub, updateTo(sub, choice, plan.direction)), taxPercentage: given || sub.taxPercentage };
  const quoted = {
    sub,
    after,
    update: updateTo(sub, choice, plan.direction),
    mode,
    plan,
    at,
    periods,
    gateway,
    settings,
  };
  const { bill, newPeriod } = await billOf(tx, quoted, input);
  const composed = await compose(tx, bill, { sellerCountryCode: merchant.countryCode, gateway });
  return { ...quoted, newPeriod, composed };
}

const isTrial = (period: PeriodRow | undefined): boolean => period?.kind === 'trial' || period?.kind === 'free';

const stateOf = ({ subscriptionId, status, cancelAtPeriodEnd }: Subscription): rules.ChangeableState => ({
  ...{ subscriptionId, status, cancelAtPeriodEnd },
  ...{ inTrial: false, paymentUnknown: false },
});

/** When a change takes effect; one of an incomplete subscription does so at once, since its period is not paid. */
function planned(
  sub: Subscription,
  after: Subscription,
  mode: rules.ChangeMode,
  { effectImmediate }: ChangeInput,
  { downgradeEffectImmediately, upgradeProration }: Settings,
): rules.ChangePlan {
  const requested = (mode === 'incomplete' ? 0 : effectImmediate) as rules.RequestedEffect;
  const context = { requested, paidActive: mode === 'billed', downgradeEffectImmediately, upgradeProration };
  return rules.planChange(termsOf(sub), termsOf(after), context);
}

/** Plan, quantity, add-ons and currency of a change; absent ones stay. */
async function choiceOf(tx: Tx, sub: Subscription, input: ChangeInput): Promise<Choice> {
  const { newPlanId, quantity = sub.quantity, addonParams = addonParamsOf(sub) } = input;
  const copies = await plansById(tx, [newPlanId, ...addonParams.map(({ addonPlanId }) => addonPlanId)]);
  // a plan that it has is not sold anew: it may be off the market
  const planAt = (planId: number, path: string): Plan =>
    soldPlan(sub, planId) ?? assertSellable(tx, planId, copies, path);
  const plan = planAt(newPlanId, '/newPlanId');
  const addons = addonParams.map((addon, at) => ({
    plan: planAt(addon.addonPlanId, `/addonParams/${at}/addonPlanId`),
    quantity: addon.quantity,
  }));
  if (plan.productId !== sub.productId) {
    throw invalid(
      '/newPlanId',
      `names a plan of product ${plan.productId}: the subscription is to product ${sub.productId}`,
    );
  }
  const choice: Choice = { plan, quantity, addons, currency: input.currency || sub.currency };
  assertChoice(choice, '/newPlanId');
  return input.productData ? { ...choice, product: input.productData } : choice;
}

const soldPlan = ({ planSnapshot: { plan, addons } }: Subscription, planId: number): Plan | undefined =>
  [plan, ...addons.map(({ addonPlan }) => addonPlan)].find(each => each?.id === planId) ?? undefined;

type Unbilled = Omit<ChangeQuote, 'composed' | 'newPeriod'>;

/** The bill of a change as of now: its lines, the open invoice of an incomplete subscription anew, or nothing. */
async function billOf(
  tx: Tx,
  quoted: Unbilled,
  input: ChangeInput,
): Promise<{ bill: Bill; newPeriod: Stretch | undefined }> {
  const { after, mode, plan, at, periods } = quoted;
  const [current] = periods;
  if (mode === 'incomplete' && current) {
    const period = { kind: current.kind, start: current.startAt, end: current.endAt };
    return { bill: cycleBill(after, period, [], tx.now), newPeriod: undefined };
  }
  const isBilled = plan.effect === 'now' && plan.billed;
  const { lines, newPeriod } = isBilled ? await linesOf(tx, quoted) : { lines: nothing, newPeriod: undefined };
  const discount = await discountOf(tx, quoted, lines, input);
  const bill = changeBill(after, {
    ...{ direction: plan.direction, at, periodEnd: newPeriod?.end ?? current?.endAt ?? at },
    ...{ items: lines.items, discount, promo: promoOf(input) },
  });
  return { bill, newPeriod };
}

const nothing: BilledLines = { items: [], shares: [], carriesDiscount: false };

async function linesOf(tx: Tx, { sub, after, plan, at, periods }: Unbilled) {
  const sold = await soldLines(tx, sub.subscriptionId, at);
  const interval = intervalOf(planOf(after));
  const newPeriod = plan.newInterval ? { start: at, end: boundary(at, 1, interval, sub.timeZone) } : undefined;
  const lines = changeLines({
    ...{ from: termsOf(sub), to: termsOf(after), at, sold },
    periods: periods.filter(({ state }) => state === 'paid').map(row => paidPeriod(sub, row)),
    ...(newPeriod && { newPeriod }),
  });
  const carriesDiscount = sold.some(({ discount }) => discount > 0n);
  return { lines: { ...lines, carriesDiscount }, newPeriod };
}

/** A stub is priced as part of the full interval from its start. */
function paidPeriod(sub: Subscription, { kind, startAt: start, endAt: end }: PeriodRow): PaidPeriod {
  const full = kind === 'stub' ? boundary(start, 1, intervalOf(planOf(sub)), sub.timeZone) : end;
  return { start, end, full: { start, end: full } };
}

function promoOf({ applyPromoCredit, applyPromoCreditAmount = 0 }: ChangeInput): NonNullable<Bill['promo']> {
  return { cap: applyPromoCreditAmount, ...(applyPromoCredit !== undefined && { apply: applyPromoCredit }) };
}
