import { aggregationType, metricType, type Service } from '@recur/contracts';

// Usage of a merchant, as rows of billing: first such that every rule holds, then damaged, each time in one way.

/** Unix seconds of all events. Counters begin before, and end after. */
const at = Date.UTC(2030, 0, 15) / 1000;
const merchant_id = 999_999;
const { count, countUnique, latest, max, sum } = aggregationType;
type Aggregation = (typeof aggregationType)[keyof typeof aggregationType];

/** A statement that adds a row; columns that are not given are empty. */
const row = (table: string, of: object) =>
  `insert into ${table} select (jsonb_populate_record(null::${table}, (
     select jsonb_object_agg(attname, case format_type(atttypid, null) when 'jsonb' then '{}'::jsonb when 'text' then '""'
       when 'boolean' then 'false' else '0' end) from pg_attribute
     where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped) || '${JSON.stringify({ merchant_id, ...of })}')).*`;

const subscription = (subscription_id: string, of: object) =>
  row('subscriptions', {
    subscription_id,
    user_id: merchant_id,
    carried_lines: [],
    multi_trial: null,
    discount: null,
    current_period_start: at - 1_000,
    current_period_end: at + 1_000,
    ...of,
  });
const period = (subscription_id: string, of: object) =>
  row('subscription_periods', {
    subscription_id,
    kind: 'cycle',
    state: 'paid',
    start_at: at - 1_000,
    end_at: at + 1_000,
    ...of,
  });

/** Values of the two events of every counter, which share a unique id where the metric counts such. */
const values = [3, 4];
const tallies = new Map<Aggregation, number>([
  [count, 2],
  [countUnique, 1],
  [latest, 4],
  [max, 4],
  [sum, 7],
]);
const metricOf = (aggregation: Aggregation) => 900 + aggregation;

let events = 0;
/** A counter with its events. */
function counted(subscription_id: string, aggregation: Aggregation, of: object = {}): string[] {
  const counter = { subscription_id, metric_id: metricOf(aggregation), start_at: at - 1_000, ...of };
  const { metric_id, start_at } = counter;
  const unique_id = aggregation === countUnique ? 'a' : '';
  const where = { subscription_id, metric_id, user_id: merchant_id };
  const used = tallies.get(aggregation);
  return [
    row('usage_counters', { ...where, ...counter, end_at: at + 1_000, events: values.length, used, price: null }),
    ...values.map(value =>
      row('usage_events', { ...where, id: ++events, event_time: at, counter_start: start_at, value, unique_id }),
    ),
    ...(unique_id ? [row('usage_uniques', { ...counter, unique_id, events: values.length })] : []),
  ];
}

/** A counter that was billed, and its billing. */
const billed = (subscription_id: string, aggregation: Aggregation, invoice_id: string, amount: number) => [
  ...counted(subscription_id, aggregation, {
    closed: true,
    billed_value: tallies.get(aggregation),
    billed_amount: amount,
  }),
  row('usage_billings', {
    invoice_id,
    subscription_id,
    metric_id: metricOf(aggregation),
    start_at: at - 1_000,
    value: tallies.get(aggregation),
    amount,
  }),
];

const priced = (aggregation: Aggregation) => [{ metricId: metricOf(aggregation) }];
const waiting = { plan: { metricMeteredCharge: priced(count) }, addons: [] };

/** Usage in which nothing is wrong. */
export const agreeing: string[] = [
  `select usage_events_ensure(${at})`,
  ...Object.values(aggregationType).map(aggregation =>
    row('metric_copies', {
      id: metricOf(aggregation),
      code: `m${aggregation}`,
      data: { aggregationType: aggregation, type: metricType.chargeMetered },
    }),
  ),
  row('invoices', { invoice_id: 'in_usage', subscription_id: 'sub_live', status: 'paid', kind: 'invoice', counter: 1 }),
  row('invoice_lines', {
    invoice_id: 'in_usage',
    line_no: 1,
    line_id: 'in_usage_1',
    item_key: `usage:${metricOf(count)}`,
    start_at: at - 1_000,
    end_at: at + 1_000,
    amount_excluding_tax: 20,
  }),
  subscription('sub_live', {
    status: 'active',
    carried_lines: [{ key: `usage:${metricOf(sum)}`, start: at - 1_000, amount: 70 }],
  }),
  ...billed('sub_live', count, 'in_usage', 20),
  ...billed('sub_live', sum, 'in_carried', 70),
  ...[countUnique, latest, max].flatMap(aggregation => counted('sub_live', aggregation)),
  // usage that may stay open at an end: in free time, without a price, and in the grace of the last period
  subscription('sub_ended', {
    status: 'cancelled',
    trial_end: at - 400,
    plan_snapshot: {
      plan: { metricMeteredCharge: priced(count), metricRecurringCharge: [] },
      addons: [{ addonPlan: { metricRecurringCharge: priced(latest) } }],
    },
  }),
  period('sub_ended', { seq: 1 }),
  period('sub_ended', { seq: 2, kind: 'trial', start_at: at - 600, end_at: at - 500 }),
  ...billed('sub_ended', count, 'dropped_sub_ended', 0),
  ...counted('sub_ended', latest, { start_at: at - 450 }),
  ...counted('sub_ended', sum),
  subscription('sub_waiting', { status: 'expired', plan_snapshot: waiting }),
  period('sub_waiting', { seq: 1, finish_at: at + 2_000 }),
  ...counted('sub_waiting', count),
];

const set = (table: string, what: string, subscriptionId: string, aggregation: Aggregation) =>
  `update ${table} set ${what} where subscription_id = '${subscriptionId}' and metric_id = ${metricOf(aggregation)}`;
const drop = (table: string, subscriptionId: string, aggregation: Aggregation) =>
  `delete from ${table} where subscription_id = '${subscriptionId}' and metric_id = ${metricOf(aggregation)}`;
const carries = (...amounts: number[]) =>
  `update subscriptions set carried_lines = '${JSON.stringify(
    amounts.map(amount => ({ key: `usage:${metricOf(sum)}`, start: at - 1_000, amount })),
  )}' where subscription_id = 'sub_live'`;
const counter = (subscriptionId: string, aggregation: Aggregation, from = at - 1_000) =>
  `${subscriptionId}, metric ${metricOf(aggregation)} from ${from}`;
const live = (aggregation: Aggregation) => counter('sub_live', aggregation);

const damages: [finding: string, ...damage: string[]][] = [
  [
    `${live(count)} is billed 3 for 20, its billings are 2 for 20`,
    set('usage_counters', 'billed_value = 3', 'sub_live', count),
  ],
  [
    `${live(count)} is billed 2 for 21, its billings are 2 for 20`,
    set('usage_counters', 'billed_amount = 21', 'sub_live', count),
  ],
  [
    `${live(count)} is billed 2 for 20, its billings are 2 for 20, it is open`,
    set('usage_counters', 'closed = false', 'sub_live', count),
  ],
  [`its billings are 2 for 20, it is not there`, drop('usage_counters', 'sub_live', count)],
  [
    `sells usage of metric ${metricOf(count)} from ${at - 1_000} for 19, it billed 20`,
    `update invoice_lines set amount_excluding_tax = 19 where invoice_id = 'in_usage'`,
  ],
  ['for nothing, it billed 20', `update invoices set status = 'cancelled' where invoice_id = 'in_usage'`],
  ['for 20, it billed nothing', drop('usage_billings', 'sub_live', count)],
  [`${live(sum)} has 0 carried lines of 0, for 1 billings of 70`, carries()],
  [`${live(sum)} has 2 carried lines of 70, for 1 billings of 70`, carries(70, 0)],
  [`${live(sum)} has 1 carried lines of 71, for 1 billings of 70`, carries(71)],
  [`${live(sum)} has 1 carried lines of 69, for 1 billings of 70`, carries(69)],
  [
    'drops usage of sub_ended, which is pending',
    `update subscriptions set status = 'pending' where subscription_id = 'sub_ended'`,
  ],
  [
    'dropped_other drops usage of sub_live, which is active',
    set('usage_billings', `invoice_id = 'dropped_other'`, 'sub_live', count),
  ],
  [`begins before ${at + 1_000}`, ...counted('sub_live', max, { start_at: at - 999 })],
  ...[...tallies].map(([aggregation, used]): [string, string] => [
    `${live(aggregation)} counts ${used + 1} of 2 events, they are ${used} of 2`,
    set('usage_counters', 'used = used + 1', 'sub_live', aggregation),
  ]),
  [`${live(latest)} counts 4 of 3 events, they are 4 of 2`, set('usage_counters', 'events = 3', 'sub_live', latest)],
  [
    `${live(max)} counts 4 of 2 events, they are 3 of 1`,
    `${set('usage_events', 'deleted_time = 1', 'sub_live', max)} and value = 4`,
  ],
  [`${live(max)} has events of another time`, set('usage_counters', `end_at = ${at}`, 'sub_live', max)],
  [`${live(max)} has events and no counter`, drop('usage_counters', 'sub_live', max)],
  [`${live(countUnique)} has 1 events of a, they are 2`, set('usage_uniques', 'events = 1', 'sub_live', countUnique)],
  [`${live(countUnique)} has 0 events of a, they are 2`, drop('usage_uniques', 'sub_live', countUnique)],
  [
    `${counter('sub_ended', count)} is open with 2 of 2 events`,
    set('usage_counters', 'closed = false', 'sub_ended', count),
  ],
  [
    `${counter('sub_ended', latest, at - 450)} is open with 4 of 2 events`,
    `update subscription_periods set kind = 'stub' where kind = 'trial' and subscription_id = 'sub_ended'`,
  ],
  [
    `${counter('sub_ended', sum)} is open with 7 of 2 events`,
    row('subscription_pending_updates', {
      pending_update_id: 'pu_usage',
      subscription_id: 'sub_ended',
      status: 'finished',
      kind: 'update',
      effect_time: at,
      plan_snapshot: { plan: { metricMeteredCharge: priced(sum) }, addons: [] },
    }),
  ],
  [
    `${counter('sub_waiting', count)} is open with 2 of 2 events`,
    `update subscription_periods set finish_at = 0 where subscription_id = 'sub_waiting'`,
  ],
];

/** Findings that the oracle has to have, with the statements that damage usage so. */
export const usageDamages = damages.map(([finding, ...damage]): [string, Service, string[]] => [
  finding,
  'billing',
  [...agreeing, ...damage],
]);
