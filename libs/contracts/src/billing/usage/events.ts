import { z } from 'zod';
import { MerchantMetric, MetricPlanCharge, MetricPlanChargeStep } from '../../catalog/metrics.js';
import { chargeStatus } from '../../codes.js';
import { amount, code, Empty, integer, type Shape, text, time } from '../../field.js';
import { User } from '../../identity/user-shape.js';
import * as input from '../../input.js';
import { ndjsonLines, operation } from '../../operation.js';
import { Invoice } from '../invoices/shape.js';

/** `batch`: events in one request of metric/event/batch. */
export const usageLimits = { batch: 1_000 } as const;

const eventMetricCharge = z.object({
  chargeAmount: amount.describe('By how much the event raised the price of the period'),
  chargePricing: MetricPlanCharge.nullable(),
  currency: text,
  currentValue: integer,
  graduatedStep: MetricPlanChargeStep.nullable(),
  planId: integer,
  totalChargeAmount: amount,
  unitAmount: amount,
});
export interface EventMetricCharge extends z.output<typeof eventMetricCharge> {}
export const EventMetricCharge: Shape<EventMetricCharge> = eventMetricCharge.meta({ id: 'EventMetricCharge' });

const eventFields = {
  aggregationPropertyData: text.describe('metricProperties as JSON text'),
  aggregationPropertyInt: integer,
  aggregationPropertyString: text,
  chargeInvoiceId: text.describe('The invoice on which it was billed first'),
  createTime: time,
  eventTime: time.describe('When it happened, which decides its period'),
  eventCharge: EventMetricCharge.nullable(),
  externalEventId: text,
  id: integer,
  merchantId: integer,
  metricId: integer,
  metricLimit: integer.describe('The limit when it was taken; 0 for charges'),
  subscriptionIds: text,
  subscriptionPeriodEnd: time,
  subscriptionPeriodStart: time,
  unbilledReason: text.describe(
    "Why it was closed without an invoice: 'dropped' with the end of its subscription, or 'carried' to a later invoice with what was too little to charge; '' otherwise",
  ),
  used: integer.describe('The value of the metric with it'),
  userId: integer,
};
const merchantMetricEvent = z.object(eventFields);
export interface MerchantMetricEvent extends z.output<typeof merchantMetricEvent> {}
export const MerchantMetricEvent: Shape<MerchantMetricEvent> = merchantMetricEvent.meta({ id: 'MerchantMetricEvent' });

const merchantMetricEventDetail = z.object({
  ...eventFields,
  chargeInvoice: Invoice.nullable(),
  chargeStatus: code(chargeStatus),
  merchantMetric: MerchantMetric.nullable(),
  user: User.nullable(),
});
export interface MerchantMetricEventDetail extends z.output<typeof merchantMetricEventDetail> {}
export const MerchantMetricEventDetail: Shape<MerchantMetricEventDetail> = merchantMetricEventDetail.meta({
  id: 'MerchantMetricEventDetail',
});

/** The user that a usage operation is about: the first one given decides. */
export const usageUser = {
  userId: input.integer.default(0),
  externalUserId: input.externalId.default('').describe('Used if there is no userId'),
  email: input.line.default('').describe('Used if there is neither userId nor externalUserId'),
};

/** Refuses an input that names no user. */
export const ofUser = <S extends z.ZodType<{ userId: number; externalUserId: string; email: string }>>(schema: S) =>
  input.rule(
    schema,
    'must name the user by userId, externalUserId or email',
    ({ userId, externalUserId, email }) => userId !== 0 || externalUserId !== '' || email !== '',
    ['userId'],
  );

/** The value of a usage event. */
export const usageValue = z.int().min(-1_000_000_000_000).max(1_000_000_000_000);

/** A usage event, as metric/event/new, batch and ingest take it. */
export const UsageEventInput = ofUser(
  z
    .object({
      ...usageUser,
      metricCode: input.filledKey,
      externalEventId: input.filledKey.describe('Unique per user and metric: a repeat changes nothing'),
      aggregationValue: usageValue
        .optional()
        .describe(
          "The value for latest, max and sum; absent, it is the metric's aggregationProperty in metricProperties",
        ),
      aggregationUniqueId: input.externalId
        .default('')
        .describe("What unique counts count; absent, it is the metric's aggregationProperty in metricProperties"),
      metricProperties: input.metadata.default({}),
      productId: input.integer.default(0).describe("Of the user's subscription; 0 for any"),
      eventTime: input.integer
        .default(0)
        .describe('Unix seconds, at most 300 ahead and 35 days ago; 0 for the time at which it arrives'),
    })
    .meta({ 'x-shape': 'UsageEventInput' }),
);
export type UsageEventInput = z.output<typeof UsageEventInput>;

const eventErrors = [
  'user_not_found',
  'metric_not_found',
  'usage_not_subscribed',
  'usage_period_invoiced',
  'usage_limit_exceeded',
  'usage_event_deleted',
] as const;

export const newUsageEvent = operation({
  service: 'billing',
  name: 'metric.event_new',
  methods: ['POST'],
  path: '/merchant/metric/event/new',
  summary: 'Record a usage event; a repeat of its externalEventId answers the first and changes nothing',
  effect: 'write',
  permission: 'billable-metric.write',
  input: UsageEventInput,
  output: z.object({ merchantMetricEvent: MerchantMetricEvent }),
  errors: eventErrors,
});

const eventResult = z
  .object({
    externalEventId: text,
    code: integer.describe('0 for success; else as in the envelope'),
    message: text,
    id: integer.describe('The event; 0 if it was refused'),
  })
  .meta({ id: 'UsageEventResult' });

export const batchUsageEvents = operation({
  service: 'billing',
  name: 'metric.event_batch',
  methods: ['POST'],
  path: '/merchant/metric/event/batch',
  summary: 'Record up to 1000 usage events, with a result for each; those that are refused stop no others',
  effect: 'write',
  permission: 'billable-metric.write',
  input: z.object({ events: input.list(UsageEventInput, usageLimits.batch).min(1) }),
  output: z.object({ results: z.array(eventResult) }),
  errors: [],
});

const ndjson = input.rule(z.string().max(1_048_576), `must have at most ${ndjsonLines} lines`, hasFewLines);
/** A line break that ends the text begins no further line. */
function hasFewLines(text: string): boolean {
  let at = -1;
  for (let line = 0; line < ndjsonLines; line++) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) return true;
  }
  return at === text.length - 1;
}
const refusedLine = z
  .object({ line: integer.describe('From 1'), code: integer, message: text })
  .meta({ id: 'UsageLineRefused' });

export const ingestUsageEvents = operation({
  service: 'billing',
  name: 'metric.event_ingest',
  methods: ['POST'],
  path: '/merchant/metric/event/ingest',
  summary:
    'Record usage events sent as NDJSON, one per line, up to 10000 lines and 1 MiB; answers when they are durable',
  effect: 'write',
  permission: 'billable-metric.write',
  ndjson: 'lines',
  input: z.object({ lines: ndjson.describe('The body: a usage event of event/new per line') }),
  output: z.object({
    accepted: integer.describe('Lines that were recorded, or had been before'),
    refused: z.array(refusedLine).describe('At most 1000 of the lines that were refused'),
  }),
  errors: [],
});

export const deleteUsageEvent = operation({
  service: 'billing',
  name: 'metric.event_delete',
  methods: ['POST'],
  path: '/merchant/metric/event/delete',
  summary: 'Delete a usage event; one that is invoiced is credited on the next invoice',
  effect: 'write',
  permission: 'billable-metric.write',
  input: ofUser(z.object({ ...usageUser, metricCode: input.filledKey, externalEventId: input.filledKey })),
  output: Empty,
  errors: ['user_not_found', 'metric_not_found', 'usage_event_not_found', 'usage_period_invoiced'],
});

export const listUsageEvents = operation({
  service: 'billing',
  name: 'metric.event_list',
  methods: ['GET', 'POST'],
  path: '/merchant/metric/event_list',
  summary: 'Usage events that match every filter, newest first, without deleted ones',
  effect: 'read',
  permission: 'billable-metric.read',
  input: input.paged(
    z.object({
      userIds: input.q.ints().optional(),
      metricIds: input.q.ints().optional(),
      subscriptionIds: input.q.strings().optional(),
      invoiceId: input.line.optional().describe('The invoice on which they are charged'),
      ...input.createdWithin,
      ...input.sorting('createTime'),
      ...input.paging,
    }),
  ),
  output: z.object({ events: z.array(MerchantMetricEventDetail), total: input.total }),
  errors: [],
});
