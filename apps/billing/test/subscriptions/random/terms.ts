import { emptyOf, Plan, planType } from '@recur/contracts';
import type { Interval } from '@recur/kernel';
import type { Wish } from '../../../../../tools/journeys/model/terms.js';
import {
  type Choice,
  itemsAmount,
  itemsFor,
  snapshotOf,
  storedItems,
} from '../../../src/subscriptions/domain/items.js';
import type { Period } from '../../../src/subscriptions/domain/periods.js';
import { subscriptionStart } from '../../../src/subscriptions/domain/start.js';
import type { Subscription } from '../../../src/subscriptions/domain/subscription.js';
import type { TaxContext } from '../../../src/tax/decide.js';
import type { History } from './history.js';
import { chargesOf } from './meter.js';

// Plans and codes that a history names, as the service knows them.

const emptyPlan = emptyOf(Plan);
const step = { name: '', metadata: {}, trialCompareAtPrice: 0, intervalUnit: '', intervalCount: 0, trialDuration: 0 };

function planOf(history: History, at: number): Plan {
  const { begin, intervals, plans } = history;
  const { unit, count } = (at === 2 ? intervals[1] : intervals[0]) as Interval;
  const trial = begin.is === 'trial' && { trialDurationTime: begin.seconds, trialAmount: begin.price };
  const [first = 0, second = 0] = begin.is === 'steps' ? begin.prices : [];
  const multiTrials = [
    { ...step, trialDuration: 7 * 86_400, trialPrice: first },
    { ...step, intervalUnit: 'month', intervalCount: 1, trialPrice: second },
  ];
  return {
    ...emptyPlan,
    id: 10 + at,
    planName: `Plan ${at}`,
    amount: plans[at] ?? 0,
    currency: 'EUR',
    type: planType.main,
    intervalUnit: unit,
    intervalCount: count,
    bindingAddonIds: '20,21',
    ...trial,
    metricMeteredCharge: chargesOf(history, at),
    ...(begin.is === 'steps' && { multiTrials }),
  };
}

const addonOf = ({ addons }: History, at: number): Plan => ({
  ...emptyPlan,
  id: 20 + at,
  planName: `Add-on ${at}`,
  amount: addons[at] ?? 0,
  currency: 'EUR',
  type: planType.recurringAddon,
});

const catalogs = new WeakMap<History, { plans: Plan[]; addons: Plan[] }>();

function catalogOf(history: History) {
  const made = catalogs.get(history) ?? {
    plans: [0, 1, 2].map(at => planOf(history, at)),
    addons: [0, 1].map(at => addonOf(history, at)),
  };
  catalogs.set(history, made);
  return made;
}

export function choiceOf(history: History, { plan, quantity, addons }: Wish): Choice {
  const catalog = catalogOf(history);
  const chosen = addons.flatMap((many, at) => (many > 0 ? [{ plan: catalog.addons[at] as Plan, quantity: many }] : []));
  return { plan: catalog.plans[plan] as Plan, quantity, addons: chosen, currency: 'EUR' };
}

/** The subscription at its start, active in its first period. */
export function begun(history: History): { sub: Subscription; period: Period } {
  const { begin, start, zone, wish, taxPercentage } = history;
  const choice = choiceOf(history, wish);
  const { plan, quantity, currency } = choice;
  const isDaily = plan.intervalUnit === 'day';
  const day = begin.is === 'stub' && !isDaily ? begin.day : 0;
  const { period, ...began } = subscriptionStart({
    plan,
    currency,
    start,
    timeZone: zone,
    trialAllowed: true,
    freeInInitialPeriod: false,
    freeTimeEnd: 0,
    trialEnd: begin.is === 'free' ? start + begin.seconds : 0,
    billingAnchorDay: plan.intervalUnit === 'week' ? day % 8 : day,
  });
  const items = itemsFor(choice);
  const sub: Subscription = {
    merchantId: 15,
    subscriptionId: 'sub_1',
    id: 1,
    version: 1,
    userId: 1,
    productId: 0,
    planId: plan.id,
    externalSubscriptionId: '',
    quantity,
    status: 'active',
    previousStatus: 'pending',
    type: 1,
    currency,
    amount: itemsAmount(items),
    timeZone: zone,
    ...began,
    currentPeriodStart: period.start,
    currentPeriodEnd: period.end,
    unpaidUntil: 0,
    firstPaidTime: start,
    gatewayId: 1,
    paymentMethodId: '',
    gatewayPaymentType: '',
    manualPayment: false,
    cancelAtPeriodEnd: false,
    cancelReason: '',
    cancelTime: 0,
    dunningTime: 0,
    latestInvoiceId: '',
    pendingUpdateId: '',
    planSnapshot: snapshotOf(choice, start),
    items: storedItems(items),
    priceChanges: [],
    discount: null,
    carried: [],
    taxPercentage,
    vatNumber: '',
    countryCode: '',
    metadata: {},
    returnUrl: '',
    cancelUrl: '',
    asked: '',
    parkedReason: '',
    parkedAt: 0,
    createTime: start,
    modifyTime: start,
  };
  return { sub, period };
}

/** A German seller and the buyer of a history. */
export function taxOf({ buyer, start }: History): TaxContext {
  const business = buyer === 'business';
  const countryCode = business ? 'FR' : buyer === 'none' ? '' : buyer;
  const vatNumber = { number: 'FR40303265045', wellFormed: true, answer: { valid: true, checkedAt: start } };
  return {
    seller: { countryCode: 'DE', gatewayRules: [], reverseChargePending: true },
    buyer: { business, countryCode, state: '', zip: '', ...(business && { vatNumber }) },
    merchantUs: { active: false, nexusStates: [] },
    usRates: [],
    now: start,
  };
}
