import { currencies, exponentOf, type Plan, planStatus } from '@recur/contracts';
import { boundary, DAY_SECONDS, type Interval, lengthOf } from '@recur/kernel';
import { z } from 'zod';
import { chargesItself } from '../../gateways/domain/gateway.js';
import { statedCountry } from '../../tax/countries.js';
import {
  assertChoice,
  type Choice,
  type Item,
  intervalOf,
  itemsAmount,
  itemsFor,
  PLAN_KEY,
  snapshotOf,
  storedItems,
} from '../domain/items.js';
import type { Subscription } from '../domain/subscription.js';
import type { ActiveRow, Faults, HistoryRow, KnownImport } from './rows.js';

const addonsAsked = z
  .array(
    z.strictObject({
      planId: z.int().optional(),
      externalPlanId: z.string().optional(),
      quantity: z.int().min(1).default(1),
      amount: z.union([z.string(), z.number()]).transform(String).optional(),
    }),
  )
  .max(20);

/** An amount in major units as minor ones; undefined where it has more decimals than the currency. */
function minorOf(amount: string, currency: string): bigint | undefined {
  const [whole = '', decimals = ''] = amount.split('.');
  const places = exponentOf(currency);
  const given = decimals.replace(/0+$/, '');
  return given.length > places ? undefined : BigInt(whole + given.padEnd(places, '0'));
}

/** Names, plan, price and gateway of a row. Undefined where a fault was found. */
function sold(row: ActiveRow & HistoryRow, found: KnownImport, faults: Faults) {
  const { plan, userId, gateway, merchantId } = found;
  const by = (one: string, other: string) => (row[one as keyof typeof row] === undefined ? other : one);
  if (userId === undefined) {
    const column = by('ExternalUserId', 'Email');
    faults.add(column, row.ExternalUserId || row.Email ? 'names no user' : 'is required where ExternalUserId is blank');
  }
  if (!gateway) faults.add('Gateway', 'names no gateway of yours');
  if (!plan) {
    const column = by('ExternalPlanId', 'PlanId');
    faults.add(
      column,
      row.ExternalPlanId || row.PlanId ? 'names no plan' : 'is required where ExternalPlanId is blank',
    );
    return undefined;
  }
  if (plan.status === planStatus.editing || plan.status === planStatus.hardArchived) {
    faults.add(by('ExternalPlanId', 'PlanId'), 'names a plan that was never active, or was archived for good');
  }
  const currency = row.Currency?.toUpperCase() ?? plan.currency;
  if (!currencies.has(currency)) {
    faults.add('Currency', 'must be an ISO 4217 code such as EUR');
    return undefined;
  }
  const quantity = row.Quantity ?? 1;
  const addons = addonsOf(row.AddOns, found, faults);
  const choice: Choice = { plan, quantity, addons, currency };
  faults.of('AddOns', () => assertChoice(choice, ''));
  const items = faults.of('Currency', () => itemsFor(choice));
  const priced = items && faultless(faults, () => pricedAs(items, { ...row, currency, addons }, faults));
  if (!priced || userId === undefined || !gateway) return undefined;
  const snapshot = snapshotOf(choice, found.now);
  return {
    merchantId,
    userId,
    productId: plan.productId,
    planId: plan.id,
    quantity,
    currency,
    amount: itemsAmount(priced),
    items: storedItems(priced),
    planSnapshot: snapshot,
    gatewayId: gateway.gatewayId,
  };
}

const faultless = <T>(faults: Faults, make: () => T): T | undefined => {
  const before = faults.found.length;
  const made = make();
  return faults.found.length > before ? undefined : made;
};

interface AskedAddon {
  plan: Plan;
  quantity: number;
  amount?: string | undefined;
}

function addonsOf(json: unknown, { addonPlan }: KnownImport, faults: Faults): AskedAddon[] {
  if (json === undefined) return [];
  const asked = addonsAsked.safeParse(json);
  if (!asked.success) {
    faults.add('AddOns', 'must be a list of { "externalPlanId" or "planId", "quantity", "amount" }');
    return [];
  }
  return asked.data.flatMap(({ planId, externalPlanId = '', quantity, amount }) => {
    const plan = addonPlan(planId === undefined ? { externalPlanId } : { planId });
    if (plan) return { plan, quantity, amount };
    faults.add('AddOns', `names no plan with ${planId ?? externalPlanId}`);
    return [];
  });
}

/** The items at the amounts that are stated, which are of all their units. */
function pricedAs(
  items: readonly Item[],
  { Amount, currency, addons }: { Amount?: string | undefined; currency: string; addons: readonly AskedAddon[] },
  faults: Faults,
): Item[] {
  return items.map(item => {
    const isPlan = item.key === PLAN_KEY;
    const stated = isPlan ? Amount : addons.find(({ plan }) => plan.id === item.planId)?.amount;
    if (stated === undefined) return item;
    const column = isPlan ? 'Amount' : 'AddOns';
    const amount = /^\d{1,12}(\.\d{1,4})?$/.test(stated) ? minorOf(stated, currency) : undefined;
    if (amount === undefined) {
      faults.add(column, `has an amount that is none in ${currency}: ${stated}`);
      return item;
    }
    if (amount % BigInt(item.quantity) !== 0n) {
      faults.add(column, `is ${stated} for ${item.quantity} units, which is no whole amount for one`);
      return item;
    }
    return { ...item, unitAmount: amount / BigInt(item.quantity) };
  });
}

/** Fields that an imported subscription has not, or not yet. */
const blank = {
  id: 0,
  subscriptionId: '',
  version: 0,
  previousStatus: 'init',
  type: 1,
  trialEnd: 0,
  cancelAtPeriodEnd: false,
  paymentMethodId: '',
  gatewayPaymentType: '',
  manualPayment: false,
  cancelReason: '',
  cancelTime: 0,
  dunningTime: 0,
  latestInvoiceId: '',
  pendingUpdateId: '',
  priceChanges: [],
  multiTrial: null,
  discount: null,
  carried: [],
  taxPercentage: 0,
  vatNumber: '',
  countryCode: '',
  metadata: {},
  returnUrl: '',
  cancelUrl: '',
  asked: '',
  parkedReason: '',
  parkedAt: 0,
  unpaidUntil: 0,
} satisfies Partial<Subscription>;

/** The period of a row; undefined where its times cannot be. */
function timesOf(row: ActiveRow & HistoryRow, { now }: KnownImport, faults: Faults, isOver: boolean) {
  const { CurrentPeriodStart: start = 0, CurrentPeriodEnd: end = 0, CreateTime: createTime = start } = row;
  return faultless(faults, () => {
    if (start >= end) faults.add('CurrentPeriodEnd', 'must be after CurrentPeriodStart');
    else if (isOver && end > now) faults.add('CurrentPeriodEnd', 'must be past: the subscription is over');
    else if (!isOver && end <= now) faults.add('CurrentPeriodEnd', 'must be in the future: import it as history');
    if (!isOver && start > now) faults.add('CurrentPeriodStart', 'must not be in the future');
    if (createTime > start) faults.add('CreateTime', 'must not be after CurrentPeriodStart');
    return { start, end, createTime };
  });
}

function metadataOf({ Metadata }: HistoryRow, faults: Faults): Record<string, unknown> {
  if (Metadata === undefined) return {};
  const isObject = typeof Metadata === 'object' && Metadata !== null && !Array.isArray(Metadata);
  if (!isObject) faults.add('Metadata', 'must be an object such as {"tier": "gold"}');
  return isObject ? (Metadata as Record<string, unknown>) : {};
}

/** The subscription of a row that goes on here: active in the period that was paid elsewhere. Undefined where a fault was found. */
export function activeFrom(row: ActiveRow, found: KnownImport, faults: Faults): Subscription | undefined {
  const of = sold(row, found, faults);
  const times = timesOf(row, found, faults, false);
  const series = times && found.plan && faultless(faults, () => seriesOf(row, times, found, faults));
  const metadata = metadataOf(row, faults);
  const { TrialEnd: trialEnd = 0, CountryCode = '', FirstPaidTime, GatewayUserId, GatewayPaymentMethod } = row;
  const countryCode = faults.of('CountryCode', () => statedCountry(CountryCode, '')) ?? '';
  if ((GatewayUserId === undefined) !== (GatewayPaymentMethod === undefined)) {
    const missing = GatewayUserId === undefined ? 'GatewayUserId' : 'GatewayPaymentMethod';
    faults.add(missing, 'is required: the gateway knows a payment method by its user');
  }
  if (GatewayPaymentMethod !== undefined && found.gateway && !chargesItself(found.gateway)) {
    faults.add('GatewayPaymentMethod', `has no place: ${found.gateway.gatewayName} saves no payment methods`);
  }
  if (!of || !times || !series || faults.found.length > 0) return undefined;
  const { start: currentPeriodStart, end: currentPeriodEnd, createTime } = times;
  return {
    ...blank,
    ...of,
    ...series,
    status: 'active',
    currentPeriodStart,
    currentPeriodEnd,
    createTime,
    metadata,
    trialEnd,
    cancelAtPeriodEnd: row.CancelAtPeriodEnd ?? false,
    modifyTime: found.now,
    countryCode,
    firstPaidTime: trialEnd > 0 ? 0 : (FirstPaidTime ?? createTime),
    taxPercentage: row.TaxPercentage ?? 0,
    vatNumber: row.VatNumber ?? '',
    externalSubscriptionId: row.ExternalSubscriptionId ?? '',
  };
}

/** The subscription of a row that is over. Undefined where a fault was found. */
export function historyFrom(row: HistoryRow, found: KnownImport, faults: Faults): Subscription | undefined {
  const of = sold(row, found, faults);
  const times = timesOf(row, found, faults, true);
  const metadata = metadataOf(row, faults);
  const [timeZone = 'UTC'] = found.zones;
  if (!of || !times || faults.found.length > 0) return undefined;
  const { start: currentPeriodStart, end: currentPeriodEnd, createTime } = times;
  return {
    ...blank,
    ...of,
    status: 'expired',
    previousStatus: 'active',
    timeZone,
    anchor: currentPeriodStart,
    periodNo: 1,
    currentPeriodStart,
    currentPeriodEnd,
    createTime,
    firstPaidTime: createTime,
    modifyTime: found.now,
    metadata,
    cancelReason: 'It had ended before it was imported',
    cancelTime: currentPeriodEnd,
    externalSubscriptionId: row.ExternalSubscriptionId ?? '',
  };
}

/** Where the boundaries of its periods are counted from, in the zone in which its period ends at one. */
function seriesOf(
  { BillingCycleAnchor: anchor = 0, TrialEnd: trialEnd = 0 }: ActiveRow,
  { start, end }: { start: number; end: number },
  { zones, plan }: KnownImport,
  faults: Faults,
) {
  const [timeZone = 'UTC'] = zones;
  if (trialEnd > 0) {
    if (trialEnd !== end) faults.add('TrialEnd', 'must be CurrentPeriodEnd');
    return { timeZone, anchor: end, periodNo: 0 };
  }
  if (anchor > start) faults.add('BillingCycleAnchor', 'must not be after CurrentPeriodStart');
  else if (plan) {
    for (const zone of zones) {
      const periodNo = numberOf(anchor, end, intervalOf(plan), zone);
      if (boundary(anchor, periodNo, intervalOf(plan), zone) === end) return { timeZone: zone, anchor, periodNo };
    }
    const { unit, count } = intervalOf(plan);
    const near = boundary(anchor, numberOf(anchor, end, { unit, count }, timeZone), { unit, count }, timeZone);
    const message = `is no boundary of periods of ${count} ${unit} from BillingCycleAnchor: ${timeText(near)} is the next one`;
    faults.add('CurrentPeriodEnd', message);
  }
  return { timeZone, anchor, periodNo: 0 };
}

/** The number of the first boundary that is not before a time. */
function numberOf(anchor: number, time: number, interval: Interval, zone: string): number {
  const about = Math.floor((time - anchor) / (lengthOf(interval) * DAY_SECONDS));
  // a month has up to 31 days, so that a long time has fewer of them than of 30 days
  let k = Math.max(1, Math.floor(about * 0.98) - 2);
  while (boundary(anchor, k, interval, zone) < time) k++;
  return k;
}

const timeText = (time: number) => new Date(time * 1_000).toISOString().slice(0, 19).replace('T', ' ');
