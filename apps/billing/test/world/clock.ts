import {
  advanceTestClock,
  createSubscription,
  type In,
  invoiceDetail,
  type newDiscount,
  type Plan,
  planType,
  type User,
} from '@recur/contracts';
import { cards } from './cards.js';
import { activeCode, shop } from './shop.js';

/** Unix second of a UTC date, as `2026-03-31` or `2026-03-31T12:00`. */
export const utc = (date: string): number => Date.parse(date.length === 10 ? `${date}T00:00Z` : `${date}Z`) / 1000;

/** A trial of a week at 100 and a month at 500. */
export const trialSteps = [
  { name: 'Week', trialPrice: 100, trialDuration: 7 * 86_400, intervalUnit: '', intervalCount: 0 },
  { name: 'Month', trialPrice: 500, trialDuration: 0, intervalUnit: 'month', intervalCount: 1 },
].map(step => ({ ...step, metadata: {}, trialCompareAtPrice: 0 }));

/**
 * A shop with a sandbox gateway that charges cards, whose subscribers live on the test clock. Each scene has a merchant of
 * its own, because clocks never go back.
 */
export async function subscribers(from = '2026-01-31', env: Record<string, string> = {}) {
  const s = await shop(undefined, env);
  const { t } = s;
  let plans = 100;
  const merchant = { merchantId: 15 };
  let gatewayId = 0;

  const to = async (date: string | number) => {
    const target = typeof date === 'number' ? date : utc(date);
    const clock = await t.done(advanceTestClock, { to: target }, merchant);
    if (clock.status === 'ready') return;
    const failed = await t.rows('select kind, key, reason from due_work where reason is not null');
    throw new Error(`the clock is ${clock.status}: ${JSON.stringify(failed)}`);
  };
  const anew = async (date = from) => {
    merchant.merchantId++;
    await t.emitted();
    gatewayId = (await s.sandbox({}, merchant)).gatewayId;
    await to(date);
  };
  const plan = (over: Partial<Plan> = {}): number => {
    plans += 1;
    const monthly = { amount: 1000, intervalUnit: 'month', intervalCount: 1, type: planType.main } as const;
    s.knowPlan(plans, { ...monthly, ...over }, merchant.merchantId);
    return plans;
  };
  /** The subscription's fields that the cycle moves. */
  const state = async (subscriptionId: string) => {
    const [row = {}] = await t.rows(
      `select status, current_period_start as start, current_period_end as end, latest_invoice_id as invoice
        from subscriptions where subscription_id = $1`,
      [subscriptionId],
    );
    return { status: row.status, start: Number(row.start), end: Number(row.end), invoiceId: String(row.invoice) };
  };
  const dates = async (subscriptionId: string) => {
    const { status, start, end } = await state(subscriptionId);
    return `${status} ${shown(start)} ${shown(end)}`;
  };
  /** Seconds by which the merchant's clock is ahead of the machine's. */
  const ahead = async (): Promise<number> => {
    const [clock] = await t.rows('select offset_seconds from clocks where merchant_id = $1', [merchant.merchantId]);
    return Number(clock?.offset_seconds ?? 0);
  };
  const users = cards(s, () => gatewayId, merchant);
  return {
    ...s,
    ...users,
    merchant,
    anew,
    to,
    ahead,
    /** An active code of 10 %, once, or of other settings. */
    code: (code: string, settings: Partial<In<typeof newDiscount>> = {}) => activeCode(t, code, settings, merchant),
    plan,
    userWithCard: (scenario = 'succeeds', over: Partial<User> = {}) => users.userWithCard(scenario, over),
    state,
    dates,
    gatewayId: () => gatewayId,
    /** Subscribes, and charges the first invoice. */
    async subscribe(terms: object) {
      const made = await t.done(createSubscription, { gatewayId, ...terms }, merchant);
      await to(s.clock.now() + (await ahead()));
      return { ...made, id: made.subscription.subscriptionId };
    },
    /** The invoices of a subscription in the order in which they were made: name, status, period and total. */
    invoices: async (subscriptionId: string) =>
      (
        await t.rows(
          `select invoice_name, status, period_start, period_end, total_amount from invoices
          where subscription_id = $1 and kind = 'invoice' order by id`,
          [subscriptionId],
        )
      ).map(
        row =>
          `${String(row.invoice_name).replace('Subscription', '')} ${row.status} ` +
          `${shown(Number(row.period_start))} ${shown(Number(row.period_end))} ${row.total_amount}`,
      ),
    invoice: async (invoiceId: string) => (await t.done(invoiceDetail, { invoiceId }, merchant)).invoice,
    /** Live periods tile time. */
    periods: (subscriptionId: string) =>
      t.rows(
        `select kind, start_at, end_at, state from subscription_periods
          where subscription_id = $1 and state <> 'void' order by start_at`,
        [subscriptionId],
      ),
    /** Types of the subscription's events since the last call. */
    events: async (subscriptionId: string) =>
      (await t.emitted())
        .filter(({ aggregateId }) => aggregateId === subscriptionId)
        .map(({ type }) => type.replace('subscription.', '')),
  };
}
export type Subscribers = Awaited<ReturnType<typeof subscribers>>;

/** A time as `01-31`, with the hour where it is not midnight. */
export function shown(at: number): string {
  const iso = new Date(at * 1000).toISOString();
  const hour = iso.slice(11, 16);
  return hour === '00:00' ? iso.slice(5, 10) : `${iso.slice(5, 10)}T${hour}`;
}
