import type { Plan } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Caller, Tx } from '@recur/platform';
import { assertSellable, plansById } from '../../customers/catalog.js';
import { ownMerchant } from '../../customers/merchants.js';
import { assertActive, findUser } from '../../customers/users.js';
import { chooseGateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/gateway-index.js';
import { creditableLines } from '../../invoices/crediting/creditable-lines.js';
import type { CreditableLine, InvoiceInput } from '../../invoices/domain/items.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import { invoiceAggregate } from '../../invoices/views.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import { statedCountry } from '../../tax/countries.js';
import type { BilledPart } from '../../usage/rating.js';
import { type Arrears, repricedMetrics, sellsUsage } from '../arrears.js';
import { changeTerms, inUnpaidPeriod, updateTo, withChange } from '../domain/apply-change.js';
import { billedPeriods, itemsOfImmediateChange } from '../domain/change-items.js';
import * as rules from '../domain/changes.js';
import { changeInput, renewalInput } from '../domain/invoice-input.js';
import { assertChoice, type Choice } from '../domain/items.js';
import { type PendingItem, pendingInvoiceItem, pendingItemsOf, pendingNet } from '../domain/pending-items.js';
import type { PeriodRow } from '../domain/periods.js';
import { atPriceOfNow } from '../domain/repricing.js';
import type { Subscription } from '../domain/subscription.js';
import { planSold } from '../domain/subscription.js';
import { periodsFrom } from '../periods.js';
import { subscriptionSettingsOf } from '../settings.js';
import type { SubscriptionSettings } from '../tables.js';
import { addonParamsOf } from '../views.js';
import { type BilledLines, type ChangeInput, type ChangeQuote, discountOfOpen, grantedDiscount } from './discount.js';
import { requestedEffect } from './views.js';

/**
 * Quotes a change of a subscription. Nothing is saved. In a submit the subscription is locked, and the documents that are
 * credited and the usage that is billed get locked (`locks`). Throws Rejected or Stale for a change that cannot be made,
 * or for a user who is suspended.
 */
export async function quoteChange(
  tx: Tx,
  arrears: Arrears,
  sub: Subscription,
  { input, caller, locks = false }: { input: ChangeInput; caller: Caller; locks?: boolean },
): Promise<ChangeQuote> {
  const [choice, all, settings, merchant, user] = await Promise.all([
    choiceOfChange(tx, sub, input),
    allGateways(tx),
    subscriptionSettingsOf(tx),
    ownMerchant(tx),
    findUser(tx, { userId: sub.userId }),
  ]);
  assertActive(tx, user);
  const gateway = chooseGateway(all, input.gatewayId, sub.gatewayId || (user?.gatewayId ?? 0));
  const changed = input.prorationDate ? await lastChange(tx, sub) : 0;
  const bounds = { start: sub.currentPeriodStart, end: sub.currentPeriodEnd, changed };
  const isIncomplete = sub.status === 'incomplete';
  const at = isIncomplete ? tx.now : rules.prorationDateOf(input.prorationDate, tx.now, bounds);
  const live = await periodsFrom(tx, sub.subscriptionId, isIncomplete ? sub.currentPeriodStart : at);
  // the unpaid one, which may be over
  const periods = isIncomplete ? live.filter(({ state }) => state === 'open') : live;
  if (sub.status === 'active' && at >= sub.currentPeriodEnd) throw rules.betweenPeriods(sub.subscriptionId);
  if (sub.status === 'active' && periods[0]?.state === 'open') throw rules.unpaidPeriod(sub.subscriptionId);
  if (isIncomplete && periods[0]?.remakeAt) throw rules.cancelledInvoice(sub.subscriptionId);
  if (choice.currency !== sub.currency && sellsUsage(sub.planSnapshot)) throw rules.pricedUsage(sub);
  const mode = rules.changeMode({ ...changeableState(sub), inTrial: isTrial(periods[0]) });
  const update = updateTo(sub, choice, { direction: 'upgrade', at });
  const decision = decisionOn({ sub, after: withChange(sub, update), mode, periods }, input, settings);
  if (decision.effect === 'periodEnd') rules.assertDeferrable(changeableState(sub));
  const decided = updateTo(sub, choice, { direction: decision.direction, at });
  const after = { ...withChange(sub, decided), ...taxedAs(sub, input, caller) };
  const quoted = {
    sub,
    after,
    update: decided,
    mode,
    decision,
    at,
    periods,
    gateway,
    settings,
  };
  if (locks) await arrears.lock(tx, sub, at, { repriced: repricedMetrics(sub, after) });
  const { bill: fees, newPeriod, setOff, kept } = await inputOfChange(tx, arrears, quoted, input);
  const ended = endedBy(quoted, newPeriod);
  const used = await usedBefore(tx, arrears, quoted, ended);
  const bill = { ...fees, items: [...fees.items, ...used] };
  const calculated = await calculateInvoice(tx, bill, { sellerCountryCode: merchant.countryCode, gateway });
  return { ...quoted, newPeriod, setOff, kept, ended, calculated };
}

/** When the last change of a subscription took effect; 0 for none. */
async function lastChange(tx: Tx, { subscriptionId }: Subscription): Promise<number> {
  const [row] = await tx.query(lastChangeText, [tx.merchantId, subscriptionId]);
  return Number(row?.at ?? 0);
}

const lastChangeText = `select max(effect_time) as at from subscription_pending_updates
  where merchant_id = $1 and subscription_id = $2 and status = 'finished'`;

/** Percentage, VAT number and country of a subscription after a change: those of the request, else as before. */
function taxedAs(sub: Subscription, input: ChangeInput, { actor }: Caller) {
  const percentage = actor.kind === 'key' ? (input.taxPercentage ?? 0) : 0;
  return {
    taxPercentage: percentage || sub.taxPercentage,
    vatNumber: input.vatNumber || sub.vatNumber,
    countryCode: statedCountry(input.vatCountryCode, '/vatCountryCode') || sub.countryCode,
  };
}

/** All usage where a period ends with the change; none in a trial, or where it comes at the end of the period. */
function endedBy({ sub, after, mode, decision }: QuotedTerms, newPeriod: ServicePeriod | undefined): BilledPart {
  if (mode === 'trial' || decision.effect !== 'now') return { metricIds: new Set() };
  return newPeriod ? { repriced: repricedMetrics(sub, after) } : { metricIds: repricedMetrics(sub, after) };
}

/** Usage up to the change at the prices that end with it; of an incomplete subscription that of the current period. */
async function usedBefore(tx: Tx, arrears: Arrears, quoted: QuotedTerms, ended: BilledPart) {
  const { sub, mode, at, periods } = quoted;
  const open = mode === 'incomplete' ? periods[0] : undefined;
  if (!open) return arrears.items(tx, sub, at, ended);
  const items = await arrears.items(tx, sub, at, { ...ended, replaced: open.invoiceId });
  return items.filter(({ period }) => period !== null && period.start >= open.startAt);
}

const isTrial = (period: PeriodRow | undefined): boolean => period?.kind === 'trial' || period?.kind === 'free';

const changeableState = ({ subscriptionId, status, cancelAtPeriodEnd }: Subscription): rules.ChangeableState => ({
  subscriptionId,
  status,
  cancelAtPeriodEnd,
  inTrial: false,
});

/** When a change takes effect; one of an incomplete subscription does so at once, since its period is not paid. */
function decisionOn(
  { sub, after, mode, periods }: Pick<ChangeQuote, 'sub' | 'after' | 'mode' | 'periods'>,
  { effectImmediate }: ChangeInput,
  { downgradeEffectImmediately, upgradeProration }: SubscriptionSettings,
): rules.ChangeDecision {
  const requested = mode === 'incomplete' ? 'byRules' : requestedEffect(effectImmediate);
  const paidElsewhere = periods[0]?.kind === 'elsewhere';
  const paid = {
    paidActive: mode === 'billed',
    paidElsewhere,
    paidAhead: mode === 'trial' && billedPeriods(periods).length > 0,
  };
  const context = { requested, ...paid, downgradeEffectImmediately, upgradeProration };
  return rules.decideChange(changeTerms(sub), changeTerms(after), context);
}

/** Plan, quantity, add-ons and currency of a change; absent ones stay. */
async function choiceOfChange(tx: Tx, sub: Subscription, input: ChangeInput): Promise<Choice> {
  const { newPlanId, quantity = sub.quantity, addonParams = addonParamsOf(sub) } = input;
  const copies = await plansById(tx, [newPlanId, ...addonParams.map(({ addonPlanId }) => addonPlanId)]);
  // a plan that it has is not sold again: it may be off the market; a price that was changed since is taken over
  const planAt = (planId: number, path: string): Plan => {
    const sold = planSold(sub, planId);
    return sold ? atPriceOfNow(sold, copies.get(planId)?.data) : assertSellable(tx, planId, copies, path);
  };
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

type QuotedTerms = Omit<ChangeQuote, 'calculated' | 'newPeriod' | 'ended' | 'setOff' | 'kept'>;

/** The invoice of a change as of now: its lines, the open invoice of an incomplete subscription again, or nothing. */
async function inputOfChange(
  tx: Tx,
  arrears: Arrears,
  quoted: QuotedTerms,
  input: ChangeInput,
): Promise<Pick<ChangeQuote, 'newPeriod' | 'setOff' | 'kept'> & { bill: InvoiceInput }> {
  const { sub, after, mode, decision, at, periods } = quoted;
  const [current] = periods;
  if (mode === 'incomplete' && current) {
    const { period } = inUnpaidPeriod(sub, quoted.update, current);
    const open = current.invoiceId ? await tx.get(invoiceAggregate, current.invoiceId, 'invoice_not_found') : undefined;
    const discount = await discountOfOpen(tx, quoted, current.invoiceId);
    const used = await arrears.items(tx, sub, current.startAt, { replaced: current.invoiceId });
    const others = open ? [...pendingItemsOf(open.lines).map(pendingInvoiceItem), ...used] : [];
    const bill = renewalInput({ ...after, discount: null }, period, others, tx.now);
    const { invoiceName: name = bill.name, billReason = '' } = open ?? {};
    const reason = billReason === '' ? bill.reason : billReason;
    return {
      bill: { ...bill, name, reason, ...(discount && { discount }) },
      newPeriod: undefined,
      setOff: [],
      kept: [],
    };
  }
  const isBilled = decision.effect === 'now' && decision.billed;
  // documents are locked in the order of their ids
  const sold = isBilled ? await creditableLines(tx, sub.subscriptionId, at) : [];
  const unbilled = await unbilledOf(tx, quoted);
  const { lines, newPeriod, used } = isBilled ? itemsOfChange(quoted, sold, unbilled) : nothingBilled;
  const discount = await grantedDiscount(tx, quoted, lines, input);
  const bill = changeInput(after, {
    direction: decision.direction,
    at,
    periodEnd: newPeriod?.end ?? current?.endAt ?? at,
    items: [...used.map(pendingInvoiceItem), ...lines.items],
    discount,
    promo: promoOfChange(input),
  });
  return { bill, newPeriod, ...(used.length > 0 ? { setOff: unbilled, kept: [] } : { setOff: [], kept: unbilled }) };
}

/** Lines that a change bills now, after what was used of the unbilled lines that it sets off. */
interface BilledNow extends Pick<ChangeQuote, 'newPeriod'> {
  lines: BilledLines;
  used: readonly PendingItem[];
}

const nothingBilled: BilledNow = {
  lines: { items: [], discountBases: [], carriesDiscount: false },
  newPeriod: undefined,
  used: [],
};

function itemsOfChange(
  { sub, after, decision, at, periods }: QuotedTerms,
  sold: readonly CreditableLine[],
  unbilled: PendingItem[],
): BilledNow {
  const changed = { sub: { ...sub, carried: unbilled }, after, sold };
  const { newPeriod, pending: used, ...lines } = itemsOfImmediateChange(changed, decision, at, periods);
  // a change that bills nothing, and ends nothing that is unbilled, leaves them to the next invoice
  const isAlone = lines.items.length === 0 && pendingNet(used) === pendingNet(unbilled);
  return { lines, newPeriod, used: isAlone ? [] : used };
}

/** Unbilled lines of a subscription: its own, and those on the open invoice of its next period. */
async function unbilledOf(tx: Tx, { sub, periods }: QuotedTerms): Promise<PendingItem[]> {
  const open = periods.find(({ startAt, state }) => startAt === sub.currentPeriodEnd && state === 'open');
  if (!open || open.invoiceId === '') return sub.carried;
  const { status, lines } = await tx.get(invoiceAggregate, open.invoiceId, 'invoice_not_found');
  return status === 'processing' ? [...sub.carried, ...pendingItemsOf(lines)] : sub.carried;
}

function promoOfChange({
  applyPromoCredit,
  applyPromoCreditAmount = 0,
}: ChangeInput): NonNullable<InvoiceInput['promo']> {
  return { cap: applyPromoCreditAmount, ...(applyPromoCredit !== undefined && { apply: applyPromoCredit }) };
}
