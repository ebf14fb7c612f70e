import {
  type createSubscription,
  emptyOf,
  type In,
  isTimeZone,
  type Plan,
  snapshotChargeType,
  ValidResult,
} from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Caller, Reader, Tx } from '@recur/platform';
import { assertSellable, plansById } from '../../customers/catalog.js';
import { ownMerchant } from '../../customers/merchants.js';
import type { Customer, UserKey } from '../../customers/users.js';
import { chooseGateway, type Gateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/gateway-index.js';
import type { InvoiceInput } from '../../invoices/domain/items.js';
import { type CalculatedInvoice, calculateInvoice } from '../../invoices/issuing/calculate.js';
import { statedCountry } from '../../tax/countries.js';
import { parseVatNumber } from '../../tax/vat-number.js';
import { answerAbout } from '../../tax/vat-numbers.js';
import { externalTerms } from '../codes.js';
import { type FirstInvoiceTerms, firstInput } from '../domain/invoice-input.js';
import { assertChoice, type Choice, itemsAmount, itemsFor, snapshotOf, storedItems } from '../domain/items.js';
import { type Start, subscriptionStart } from '../domain/start.js';
import type { Subscription } from '../domain/subscription.js';
import { subscriptionSettingsOf } from '../settings.js';
import { type SubscriptionSettings, subscriptions } from '../tables.js';

type SubmittedCreate = In<typeof createSubscription>;
/** Terms of create_preview and create_submit; what only the latter has is optional. */
export type CreateInput = Omit<
  SubmittedCreate,
  'metadata' | 'returnUrl' | 'cancelUrl' | 'paymentMethodId' | 'startIncomplete'
> &
  Partial<Pick<SubmittedCreate, 'metadata' | 'returnUrl' | 'cancelUrl' | 'paymentMethodId'>> & {
    manualPayment?: boolean;
    asked?: string;
  };

/** A new subscription as it would be, with its first invoice calculated. */
export interface Quote {
  sub: Subscription;
  start: Start;
  calculated: CalculatedInvoice;
  gateway: Gateway | undefined;
  plan: Plan;
  settings: SubscriptionSettings;
}

/**
 * Quotes a new subscription of a user, who is undefined in the preview of an unknown one. Nothing is locked or saved.
 * Throws Rejected or Stale for plans, gateways and terms that cannot be sold.
 */
export async function quote(
  tx: Tx,
  input: CreateInput,
  user: Customer | undefined,
  { actor }: Caller,
  ids: { id: number; subscriptionId: string },
  occasion: 'create' | 'renew' = 'create',
): Promise<Quote> {
  const [choice, all, settings, merchant] = await Promise.all([
    choiceOfCreate(tx, input),
    allGateways(tx),
    subscriptionSettingsOf(tx),
    ownMerchant(tx),
  ]);
  const { plan, currency } = choice;
  const gateway = chooseGateway(all, input.gatewayId, user?.gatewayId ?? 0);
  const timeZone = input.timeZone || settings.timeZone;
  if (!isTimeZone(timeZone)) throw invalid('/timeZone', 'is no IANA time zone, such as Europe/Berlin');
  const start = subscriptionStart({
    plan,
    currency,
    start: tx.now,
    timeZone,
    trialEnd: input.trialEnd,
    freeTimeEnd: input.freeTimeEnd,
    freeInInitialPeriod: input.freeInInitialPeriod,
    billingAnchorDay: input.billingAnchorDay,
    trialAllowed: !settings.oneTrialPerUser || !(user && (await hadTrial(tx, user.id, plan.productId))),
  });
  const taxPercentage = actor.kind === 'key' ? input.taxPercentage : 0;
  const begun = newSubscription({ ...input, ...ids, taxPercentage }, choice, start, {
    merchantId: tx.merchantId,
    userId: user?.id ?? 0,
    gateway,
    timeZone,
    now: tx.now,
  });
  const sub = occasion === 'create' ? begun : asRenewal(begun);
  const bill = firstInput(sub, start.period, firstTerms(input, occasion), tx.now);
  const reason = occasion === 'create' ? bill : { ...bill, reason: occasion, name: 'SubscriptionRenew' };
  const calculated = await calculateInvoice(tx, reason, { sellerCountryCode: merchant.countryCode, gateway });
  return { sub, start, calculated, gateway, plan, settings };
}

const asRenewal = (sub: Subscription): Subscription => ({
  ...sub,
  planSnapshot: { ...sub.planSnapshot, chargeType: snapshotChargeType.renewal },
});

/** Plan, add-ons and currency of a request. */
async function choiceOfCreate(
  tx: Tx,
  { planId, addonParams, quantity, currency, productData }: CreateInput,
): Promise<Choice> {
  const copies = await plansById(tx, [planId, ...addonParams.map(({ addonPlanId }) => addonPlanId)]);
  const plan = assertSellable(tx, planId, copies, '/planId');
  const addons = addonParams.map((addon, at) => ({
    plan: assertSellable(tx, addon.addonPlanId, copies, `/addonParams/${at}/addonPlanId`),
    quantity: addon.quantity,
  }));
  const choice: Choice = { plan, quantity, addons, currency: currency || plan.currency };
  assertChoice(choice, '/planId');
  return productData ? { ...choice, product: productData } : choice;
}

function firstTerms(
  { discount, discountCode, applyPromoCredit, applyPromoCreditAmount, productData }: CreateInput,
  operation: 'create' | 'renew',
) {
  if (discount && discountCode !== '') throw invalid('/discount', 'cannot be combined with discountCode');
  const promo: NonNullable<InvoiceInput['promo']> = { cap: applyPromoCreditAmount ?? 0 };
  if (applyPromoCredit !== undefined) promo.apply = applyPromoCredit;
  const terms: FirstInvoiceTerms = { promo };
  if (productData) terms.product = productData;
  if (discountCode !== '') terms.discount = { is: 'code', code: discountCode, operation };
  if (discount) terms.discount = externalTerms(discount);
  return terms;
}

/** True if the user has had a trial of the product that came into effect. */
async function hadTrial(tx: Tx, userId: number, productId: number): Promise<boolean> {
  const earlier = await tx.all(subscriptions, { userId, productId });
  return earlier.some(({ multiTrial, firstPaidTime }) => multiTrial !== null && firstPaidTime > 0);
}

interface Context {
  merchantId: number;
  userId: number;
  gateway: Gateway | undefined;
  timeZone: string;
  now: number;
}

function newSubscription(
  input: CreateInput & { id: number; subscriptionId: string },
  choice: Choice,
  start: Start,
  { merchantId, userId, gateway, timeZone, now }: Context,
): Subscription {
  const { plan, quantity, currency } = choice;
  const items = itemsFor(choice);
  const { id, subscriptionId, gatewayPaymentType, taxPercentage, vatNumber } = input;
  return {
    merchantId,
    subscriptionId,
    id,
    version: 0,
    userId,
    productId: plan.productId,
    planId: plan.id,
    quantity,
    status: 'pending',
    previousStatus: 'init',
    type: 1,
    currency,
    amount: itemsAmount(items),
    timeZone,
    anchor: start.anchor,
    periodNo: start.periodNo,
    trialEnd: start.trialEnd,
    multiTrial: start.multiTrial,
    externalSubscriptionId: '',
    currentPeriodStart: start.period.start,
    currentPeriodEnd: start.period.end,
    unpaidUntil: 0,
    firstPaidTime: 0,
    gatewayId: gateway?.gatewayId ?? 0,
    paymentMethodId: input.paymentMethodId ?? '',

    gatewayPaymentType,
    manualPayment: input.manualPayment ?? false,
    cancelAtPeriodEnd: plan.cancelAtTrialEnd === 1 && start.trialEnd > 0,
    cancelReason: '',
    cancelTime: 0,
    dunningTime: 0,
    latestInvoiceId: '',
    pendingUpdateId: '',

    planSnapshot: snapshotOf(choice, now),
    items: storedItems(items),
    priceChanges: [],
    discount: null,
    carried: [],
    taxPercentage,
    vatNumber,
    metadata: input.metadata ?? {},
    countryCode: statedCountry(input.vatCountryCode, '/vatCountryCode'),
    returnUrl: input.returnUrl ?? '',
    cancelUrl: input.cancelUrl ?? '',
    asked: input.asked ?? '',
    parkedReason: '',
    parkedAt: 0,
    createTime: now,
    modifyTime: now,
  };
}

/** How an input names its user: by id, the merchant's own id, or e-mail; the first one that is given decides. */
export function subscriberKey({
  userId,
  externalUserId,
  email,
  user,
}: {
  userId: number;
  externalUserId: string;
  email: string;
  user?: { email: string; externalUserId: string } | undefined;
}): UserKey {
  if (userId !== 0) return { userId };
  return { externalUserId: externalUserId || (user?.externalUserId ?? ''), email: email || (user?.email ?? '') };
}

/** Throws Rejected `invalid_parameters` where an input names no user. */
export function assertNamed({ userId, externalUserId = '', email = '' }: UserKey): void {
  if (userId === undefined && externalUserId === '' && email === '') {
    throw invalid('/userId', 'is required where neither externalUserId nor email is given');
  }
}

/** Standing of a VAT number: its format and checksum, and the newest answer of VIES, which is not asked here. */
export async function numberAnswer(reader: Reader, text: string): Promise<ValidResult> {
  const { number: vatNumber, countryCode, wellFormed, message } = await parseVatNumber(text);
  const answer = await answerAbout(reader, vatNumber);
  const known = answer && `VIES says that the number is ${answer.valid ? 'valid' : 'invalid'}`;
  return {
    ...emptyOf(ValidResult),
    vatNumber,
    countryCode,
    valid: answer?.valid ?? wellFormed,
    validateMessage: known ?? message,
  };
}
