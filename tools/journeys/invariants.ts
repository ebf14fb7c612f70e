import { type Service, services } from '@recur/contracts';
import type { Ask } from './ask.js';
import { chains } from './logs.js';

/** A rule over the databases; returns its violations. */
export type Rule = (ask: Ask) => Promise<string[]>;
export const told = async (ask: Ask, service: Service, text: string): Promise<string[]> =>
  (await ask(service, text)).map(({ what }) => `${service}: ${what}`);
export const everywhere = async (ask: Ask, text: string): Promise<string[]> =>
  (await Promise.all(services.map(service => told(ask, service, text)))).flat();

/** A rule over the database of billing: the text selects what breaks it. */
export const inBilling =
  (text: string): Rule =>
  ask =>
    told(ask, 'billing', text);

/** Versioned tables: service, table, key and the aggregate of its events. */
const versioned: readonly [Service, table: string, key: string, aggregate: string][] = [
  ['billing', 'invoices', 'invoice_id', 'invoice'],
  ['billing', 'payments', 'payment_id', 'payment'],
  ['billing', 'refunds', 'refund_id', 'refund'],
  ['catalog', 'plans', 'id', 'plan'],
  ['identity', 'users', 'id', 'user'],
  ['identity', 'members', 'id', 'member'],
  ['identity', 'roles', 'id', 'role'],
];

/** A merchant that named its next number has a gap before it. */
const choseNumber = `select from merchant_copies m where m.merchant_id = invoices.merchant_id
  and ((data->>'nextInvoiceNumber')::bigint > 0 or (data->>'nextCreditNoteNumber')::bigint > 0)`;

/** Rules that hold at any moment, while parts are being killed too. */
export const always: Record<string, Rule> = {
  'an invoice is the sum of its lines': ask =>
    told(
      ask,
      'billing',
      `select invoice_id || ' is not the sum of its lines' as what from invoices i left join lateral (
         select sum(amount) as amount, sum(tax) as tax, sum(origin_amount) as origin from invoice_lines l
         where l.merchant_id = i.merchant_id and l.invoice_id = i.invoice_id) s on true
       where (s.amount, s.tax, s.amount - s.tax)
         is distinct from (i.total_amount, i.tax_amount, i.total_amount_excluding_tax)`,
    ),
  'an invoice has one live payment at most': ask =>
    told(
      ask,
      'billing',
      `select invoice_id || ' has ' || count(*) || ' live payments' as what from payments
       where status in ('created', 'success') group by merchant_id, invoice_id having count(*) > 1`,
    ),
  'an invoice and its payment agree': ask =>
    told(
      ask,
      'billing',
      `select i.invoice_id || ' is ' || i.status || ', its payment ' || coalesce(p.status, 'missing') as what
       from invoices i left join payments p on p.merchant_id = i.merchant_id and p.payment_id = i.payment_id
       where i.status in ('processing', 'paid') and i.total_amount > i.partial_credit_paid and (p.status, p.total_amount)
         is distinct from
             (case i.status when 'paid' then 'success' else 'created' end, i.total_amount - i.partial_credit_paid)
         and not (i.status = 'processing' and (i.payment_id = '' or p.status = 'failed'))`,
    ),
  'a payment is charged once': ask =>
    told(
      ask,
      'billing',
      `select regexp_replace(idempotency_key, '-\\d+$', '') || ' was charged ' || count(*) || ' times' as what
       from sandbox_charges where kind = 'charge' and state = 'succeeded'
       group by merchant_id, regexp_replace(idempotency_key, '-\\d+$', '') having count(*) > 1`,
    ),
  'an open invoice will expire': ask =>
    told(
      ask,
      'billing',
      `select i.invoice_id || ' is open, and will not expire' as what from invoices i
         where i.status = 'processing' and i.kind = 'invoice' and not exists (select 1 from due_work w
           where w.merchant_id = i.merchant_id and w.kind = 'invoice.expire' and w.key = i.invoice_id)`,
    ),
  'invoices and credit notes are counted from 1 to n': ask =>
    told(
      ask,
      'billing',
      `select 'merchant ' || merchant_id || ' has ' || count(*) || ' of kind ' || kind || ', numbered from ' ||
         min(counter) || ' to ' || max(counter) || ', counted ' || coalesce(max(last), 0) as what
       from invoices left join (
         select merchant_id, 'invoice' as kind, last_number as last from numberings
         union all select merchant_id, 'credit_note', last_credit_note from numberings) counted using (merchant_id, kind)
       where number <> '' and not exists (${choseNumber}) group by merchant_id, kind
       having min(counter) <> 1 or max(counter) <> count(*) or count(distinct counter) <> count(*)
         or count(distinct number) <> count(*) or max(last) is distinct from count(*)`,
    ),
  // the events that gateways follow are numbered over all merchants
  'the events of an object are numbered from 1 without a gap': ask =>
    everywhere(
      ask,
      `select aggregate || ' ' || aggregate_id || ' has ' || count(*) || ' events up to version ' || max(version) as what
       from outbox group by aggregate, aggregate_id, case aggregate when 'callers' then 0 else merchant_id end
       having min(version) <> 1 or max(version) <> count(*) or count(distinct version) <> count(*)`,
    ),
  'an object is at the version of its last event': async ask => {
    const findings: string[] = [];
    // in turn: an ask may be on a single connection
    for (const [service, table, key, aggregate] of versioned) {
      findings.push(...(await told(ask, service, versionsOf(table, key, aggregate))));
    }
    return findings;
  },
  // the steps of a clock are those of one advance, which is logged; notices of usage are told to endpoints only
  'a change is logged once': ask =>
    everywhere(
      ask,
      `select (envelope::json->>'requestId') || ' changed something with ' ||
         count(*) filter (where type = 'operation.logged') || ' log entries' as what
       from outbox where envelope::json->>'requestId' <> 'clock' and envelope::json->>'requestId' not like 'usage.notice%'
       group by envelope::json->>'requestId' having count(*) filter (where type = 'operation.logged') <> 1`,
    ),
  'the operation log is a chain': chains,
};

function versionsOf(table: string, key: string, aggregate: string): string {
  return `select '${aggregate} ' || coalesce(t.${key}::text, e.aggregate_id) || ' is at version ' ||
      coalesce(t.version::text, 'none') || ', its events at ' || coalesce(e.version::text, 'none') as what
    from ${table} t full join (
      select merchant_id, aggregate_id, max(version) as version from outbox where aggregate = '${aggregate}' group by 1, 2
    ) e on e.merchant_id = t.merchant_id and e.aggregate_id = t.${key}::text
    where t.version is distinct from e.version`;
}
