import { aggregationType, metricType } from '@recur/contracts';
import { inBilling, type Rule } from './invariants.js';

const { count, countUnique, latest, max, sum } = aggregationType;
const charges = `(${metricType.chargeMetered}, ${metricType.chargeRecurring})`;
const ended = `('cancelled', 'expired', 'failed')`;
const counter = 'merchant_id, subscription_id, metric_id, start_at';
const named = `subscription_id || ', metric ' || metric_id || ' from ' || start_at`;

/** Usage lines of documents that bill it. Those that were cancelled bill nothing, unless they were the last of a subscription. */
const linesOf = (prefix: string) => `select merchant_id, l.invoice_id, i.subscription_id, l.start_at,
    substr(l.item_key, ${prefix.length + 1})::bigint as metric_id, l.amount_excluding_tax as amount
  from invoice_lines l join invoices i using (merchant_id, invoice_id)
  where l.item_key like '${prefix}%' and l.source_line_id = '' and (i.status in ('processing', 'paid', 'reversed', 'failed')
      or (i.status = 'cancelled' and i.bill_reason in ('last', 'usage')))`;

/** Rules of usage that hold at any moment. */
export const usageRules: Record<string, Rule> = {
  'a counter is billed what its billings say': inBilling(
    `select ${named} || ' is billed ' || coalesce(c.billed_value, 0) || ' for ' || coalesce(c.billed_amount, 0) ||
       ', its billings are ' || coalesce(b.value, 0) || ' for ' || coalesce(b.amount, 0) ||
       case c.closed when true then '' when false then ', it is open' else ', it is not there' end as what
     from usage_counters c full join (
       select ${counter}, sum(value) as value, sum(amount) as amount from usage_billings group by ${counter}) b
       using (${counter})
     where coalesce(c.billed_value, 0) <> coalesce(b.value, 0) or coalesce(c.billed_amount, 0) <> coalesce(b.amount, 0)
       or (b.value is not null and c.closed is not true)`,
  ),
  'an invoice sells the usage that it billed': inBilling(
    `select invoice_id || ' sells usage of metric ' || metric_id || ' from ' || start_at || ' for ' ||
       coalesce(l.amount::text, 'nothing') || ', it billed ' || coalesce(b.amount::text, 'nothing') as what
     from (select b.merchant_id, b.invoice_id, b.metric_id, b.start_at, b.amount from usage_billings b
         join invoices using (merchant_id, invoice_id)) b
       full join (select merchant_id, invoice_id, metric_id, start_at, sum(amount) as amount
         from (${linesOf('usage:')}) u group by 1, 2, 3, 4) l using (merchant_id, invoice_id, metric_id, start_at)
     where coalesce(b.amount, 0) <> coalesce(l.amount, 0)`,
  ),
  // carried lines are on a later invoice or wait for one; an end waives those that wait, a discount takes its part
  'usage that was billed without an invoice is carried': inBilling(
    `with carried as (
       select ${counter}, count(*) as lines, sum(amount) as amount from (
         select merchant_id, subscription_id, metric_id, start_at, amount from (${linesOf('carried:usage:')}) u
         union all select s.merchant_id, s.subscription_id, substr(l.key, 7)::bigint, l.start, l.amount
           from subscriptions s, jsonb_to_recordset(s.carried_lines) as l(key text, start bigint, amount bigint)
           where s.carried_lines <> '[]' and l.key like 'usage:%') u group by ${counter}),
     billed as (
       select ${counter}, count(*) as billings, sum(amount) as amount from usage_billings b
       where (value <> 0 or amount <> 0) and not starts_with(invoice_id, 'dropped_')
         and not exists (select from invoices i where i.merchant_id = b.merchant_id and i.invoice_id = b.invoice_id)
       group by ${counter})
     select ${named} || ' has ' || coalesce(lines, 0) || ' carried lines of ' || coalesce(c.amount, 0) || ', for ' ||
       coalesce(billings, 0) || ' billings of ' || coalesce(b.amount, 0) as what
     from billed b full join carried c using (${counter}) left join subscriptions s using (merchant_id, subscription_id)
     where coalesce(lines, 0) > coalesce(billings, 0)
       or (coalesce(lines, 0) < billings and s.status not in ${ended})
       or (lines = billings and (c.amount > b.amount or (c.amount < b.amount and not exists (
         select from user_discounts u where u.merchant_id = b.merchant_id and u.subscription_id = b.subscription_id))))`,
  ),
  'usage is dropped by the end of its subscription alone': inBilling(
    `select b.invoice_id || ' drops usage of ' || b.subscription_id || ', which is ' || coalesce(s.status, 'missing') as what
     from usage_billings b left join subscriptions s using (merchant_id, subscription_id)
     where starts_with(b.invoice_id, 'dropped_')
       and (s.status is null or s.status not in ${ended})`,
  ),
  'the counters of a metric do not overlap': inBilling(
    `select ${named} || ' begins before ' || before || ', the end of another counter' as what
     from (select ${counter}, lag(end_at) over (partition by merchant_id, subscription_id, metric_id order by start_at)
       as before from usage_counters) c where before > start_at`,
  ),
  // reads the events once: those of a unique id first, then all of a counter; events of other metrics have the id ''
  'a counter is the tally of the events of its time': inBilling(
    `with tallied as (
       select merchant_id, subscription_id, metric_id, counter_start as start_at, sum(events) as events,
         count(*) as uniques, sum(value) as value, max(top) as top, (max(newest))[3] as newest,
         min(first) as first, max(last) as last
       from (select merchant_id, subscription_id, metric_id, counter_start, unique_id, count(*) as events,
           sum(value) as value, max(value) as top, max(array[event_time, id, value]) as newest,
           min(event_time) as first, max(event_time) as last
         from usage_events where deleted_time = 0 group by 1, 2, 3, 4, 5) u group by 1, 2, 3, 4),
     compared as (
       select ${counter}, c.end_at, c.events, c.used, t.first, t.last, coalesce(t.events, 0) as exact_events,
         coalesce(case (m.data->>'aggregationType')::int when ${count} then t.events when ${sum} then t.value
           when ${max} then t.top when ${countUnique} then t.uniques when ${latest} then t.newest end, 0) as exact
       from usage_counters c full join tallied t using (${counter})
         left join (select merchant_id, id as metric_id, data from metric_copies) m using (merchant_id, metric_id))
     select ${named} || case when events is null then ' has events and no counter'
       when first < start_at or last >= end_at then ' has events of another time'
       else ' counts ' || used || ' of ' || events || ' events, they are ' || exact || ' of ' || exact_events end as what
     from compared where events is null or first < start_at or last >= end_at or events <> exact_events or used <> exact`,
  ),
  'the unique ids of a counter are those of its events': inBilling(
    `select ${named} || ' has ' || coalesce(i.events, 0) || ' events of ' || unique_id || ', they are ' ||
       coalesce(e.events, 0) as what
     from (select ${counter}, unique_id, events from usage_uniques where events <> 0) i full join (
       select merchant_id, subscription_id, metric_id, counter_start as start_at, unique_id, count(*) as events
       from usage_events where deleted_time = 0 and unique_id <> '' group by 1, 2, 3, 4, 5) e
       using (${counter}, unique_id)
     where coalesce(i.events, 0) <> coalesce(e.events, 0)`,
  ),
};

/**
 * A rule of usage that holds once nothing is under way. A charge that counted something before its subscription ended is
 * billed or dropped, which closes its counter. It may stay open while usage of the last period may still come, in a trial or
 * other free time, and where the plans of its time had no price of the metric.
 */
export const settledUsageRules: Record<string, Rule> = {
  'an ended subscription leaves no charge open': inBilling(
    `select ${named} || ' is open with ' || used || ' of ' || events || ' events, its subscription ' || status as what
     from (
       select c.*, s.status, coalesce((
         select u.plan_snapshot from subscription_pending_updates u where u.merchant_id = c.merchant_id
           and u.subscription_id = c.subscription_id and u.status = 'finished' and u.effect_time > c.start_at
         order by u.effect_time limit 1), s.plan_snapshot) as terms
       from usage_counters c join subscriptions s using (merchant_id, subscription_id)
         join metric_copies m on m.merchant_id = c.merchant_id and m.id = c.metric_id
       where not c.closed and c.events > 0 and c.used <> 0 and s.status in ${ended}
         and (m.data->>'type')::int in ${charges}
         and not exists (select from subscription_periods p where p.merchant_id = s.merchant_id
           and p.subscription_id = s.subscription_id and p.state <> 'void' and p.finish_at > 0
           and p.start_at < s.current_period_end and p.end_at > s.current_period_start)
         and not exists (
           select from (select p.start_at, case when lead(p.start_at) over (order by p.start_at) is null
               then greatest(p.end_at, s.trial_end) else p.end_at end as end_at
             from subscription_periods p where p.merchant_id = s.merchant_id and p.subscription_id = s.subscription_id
               and p.state <> 'void' and p.kind in ('trial', 'free') and s.trial_end > 0) free
           where free.start_at <= c.start_at and c.start_at < free.end_at)) o
     where exists (
       select from (select terms->'plan' union all select a->'addonPlan' from jsonb_array_elements(terms->'addons') a) p(plan),
         jsonb_array_elements(coalesce(plan->'metricMeteredCharge', '[]') || coalesce(plan->'metricRecurringCharge', '[]')) of
       where (of->>'metricId')::bigint = metric_id)`,
  ),
};
