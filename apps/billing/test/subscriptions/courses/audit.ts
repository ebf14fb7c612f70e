import type { Row } from '@recur/platform';

/** Asks billing's database; `$m` stands for the merchant's id. */
export type Ask = (text: string) => Promise<Row[]>;

/** Rules over a merchant's tables, each a query for what breaks it. */
const rules: Record<string, string> = {
  // a daily plan may be paid after more periods than are made up for
  'is parked': `select subscription_id, parked_reason from subscriptions where merchant_id = $m
      and parked_reason not in ('', 'More than 3 periods were not billed')`,
  'is due and fails': 'select kind, key, reason from due_work where merchant_id = $m and reason is not null',
  'has periods that do not tile': `select * from (select subscription_id, start_at, end_at, lag(end_at) over w as before
      from subscription_periods where merchant_id = $m and state <> 'void'
      window w as (partition by subscription_id order by start_at, end_at)) p where before <> start_at`,
  'bills a period twice': `select subscription_id, period_start, period_kind from invoices where merchant_id = $m
      and status in ('paid', 'processing') and period_kind <> '' group by 1, 2, 3 having count(*) > 1`,
  'is credited beyond its net': `select line_id from invoice_lines where merchant_id = $m and source_line_id = ''
      and credited_net > amount - tax and amount > 0`,
  'sells the same time twice': `with sold as (select l.*, i.subscription_id from invoice_lines l join invoices i using (merchant_id, invoice_id)
        where l.merchant_id = $m and i.status = 'paid' and i.kind = 'invoice' and l.item_key ~ '^(plan$|addon:)'
          and l.source_line_id = '' and l.amount > 0 and l.credited_net < l.amount - l.tax)
      select a.line_id, b.line_id as other from sold a join sold b using (subscription_id, item_key)
      where a.line_id < b.line_id and least(a.end_at, b.end_at) > greatest(a.start_at, b.start_at)`,
};

/** Sums of a merchant's money, in minor units. */
const sums = `select
  (select coalesce(sum(case kind when 'charge' then amount else -amount end), 0) from sandbox_charges
    where merchant_id = $m and state = 'succeeded') as received,
  (select coalesce(sum(balance), 0) from credit_accounts where merchant_id = $m and type = 'main') as credit,
  (select coalesce(sum(total_amount), 0) from invoices where merchant_id = $m and status = 'paid'
    and note_reason not in ('void', 'bank_charges')) as billed,
  (select coalesce(sum(partial_credit_paid), 0) from invoices where merchant_id = $m and status = 'processing') as held`;

/** Violations of the rules, in words. */
export async function broken(ask: Ask): Promise<string[]> {
  const findings: string[] = [];
  for (const [name, text] of Object.entries(rules)) {
    for (const row of await ask(text)) findings.push(`${name}: ${JSON.stringify(row)}`);
  }
  return findings;
}

/** Money that was received and is neither billed nor a user's credit, or the other way round; once nothing is under way. */
export async function unbalanced(ask: Ask): Promise<string[]> {
  const [row = {}] = await ask(sums);
  const [received, credit, billed, held] = ['received', 'credit', 'billed', 'held'].map(name => Number(row[name]));
  return received === Number(billed) + Number(credit) + Number(held)
    ? []
    : [`money does not add up: ${JSON.stringify(row)}`];
}
