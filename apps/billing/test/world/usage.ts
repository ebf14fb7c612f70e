import {
  aggregationType,
  batchUsageEvents,
  deleteUsageEvent,
  emptyOf,
  type MerchantMetric,
  MetricPlanCharge,
  MetricPlanLimit,
  metricChargeType,
  metricType,
  newUsageEvent,
  type Plan,
  previewNextInvoice,
  updateSubscriptionConfig,
  usageCurrentValue,
} from '@recur/contracts';
import { type Subscribers, shown, subscribers, utc } from './clock.js';

type Kind = keyof typeof metricType;
type Aggregation = keyof typeof aggregationType;

/** 1–100 at 10, then 5. */
export const tiers = [
  { startValue: 0, endValue: 100, perAmount: 10, perAmountDecimal: '', flatAmount: 0 },
  { startValue: 100, endValue: -1, perAmount: 5, perAmountDecimal: '', flatAmount: 0 },
];

export const charge = (metricId: number, over: object = {}): MetricPlanCharge => ({
  ...emptyOf(MetricPlanCharge),
  metricId,
  chargeType: metricChargeType.standard,
  standardAmount: 10,
  ...over,
});

export const limit = (metricId: number, metricLimit: number): MetricPlanLimit => ({
  ...emptyOf(MetricPlanLimit),
  metricId,
  metricLimit,
});

/** Subscribers of plans that meter usage, on the test clock. */
export async function metered(from?: string) {
  const s: Subscribers = await subscribers(from);
  let [metrics, events] = [0, 0];
  const metric = (
    kind: Kind = 'chargeMetered',
    aggregation: Aggregation = 'sum',
    over: Partial<MerchantMetric> = {},
  ) => {
    const id = ++metrics;
    const types = { type: metricType[kind], aggregationType: aggregationType[aggregation] };
    s.knowMetric(id, { ...types, ...over }, s.merchant.merchantId);
    return { id, code: `m${id}` };
  };
  /** An event as it is sent, with an id of its own. */
  const event = (userId: number, { code }: { code: string }, aggregationValue?: number, over: object = {}) => ({
    userId,
    metricCode: code,
    externalEventId: `e-${++events}`,
    aggregationValue,
    ...over,
  });
  return {
    ...s,
    metric,
    event,
    /** A new user who subscribes to a new plan. */
    async subscriber(plan: Partial<Plan>, terms: object = {}) {
      const userId = await s.userWithCard();
      const planId = s.plan(plan);
      const { id } = await s.subscribe({ userId, planId, ...terms });
      return { userId, planId, id };
    },
    /** The value of a metric in the current period, and its limit. */
    async standing(userId: number, { code: metricCode }: { code: string }) {
      const { currentValue, totalLimit } = await s.t.done(usageCurrentValue, { userId, metricCode }, s.merchant);
      return [currentValue, totalLimit];
    },
    configure: (config: object) => s.t.done(updateSubscriptionConfig, config, s.merchant),
    /** Records an event; its refusal, if it was refused. */
    async use(
      userId: number,
      of: { code: string },
      value: number,
      over: { at?: string; id?: string; unique?: string } = {},
    ) {
      const { at, id, unique } = over;
      const input = event(userId, of, value, {
        ...(at && { eventTime: utc(at) }),
        ...(id && { externalEventId: id }),
        ...(unique && { aggregationUniqueId: unique }),
      });
      const result = await s.t.call(newUsageEvent, input, s.merchant);
      return result.ok ? '' : result.slug;
    },
    /** Records events as they are given, in one request. */
    record: (events: readonly object[]) => s.t.done(batchUsageEvents, { events }, s.merchant),
    useMany: (userId: number, of: { code: string }, values: readonly number[]) =>
      s.t.done(batchUsageEvents, { events: values.map(value => event(userId, of, value)) }, s.merchant),
    forget: (userId: number, { code: metricCode }: { code: string }, externalEventId: string) =>
      s.t.done(deleteUsageEvent, { userId, metricCode, externalEventId }, s.merchant),
    preview: async (subscriptionId: string) =>
      (await s.t.done(previewNextInvoice, { subscriptionId }, s.merchant)).invoice,
    /** Lines of a subscription's invoices: each with its period, and its amount before tax. */
    async lines(subscriptionId: string): Promise<string[]> {
      const rows = await s.t.rows(
        `select i.status, l.item_key, l.start_at, l.end_at, l.amount_excluding_tax as amount from invoices i
          join invoice_lines l on l.invoice_id = i.invoice_id
          where i.subscription_id = $1 and i.kind = 'invoice' and i.deleted_time = 0 order by i.id, l.line_no`,
        [subscriptionId],
      );
      return rows.map(
        row =>
          `${row.status} ${row.item_key} ${shown(Number(row.start_at))} ${shown(Number(row.end_at))} ${row.amount}`,
      );
    },
  };
}
export type Metered = Awaited<ReturnType<typeof metered>>;
