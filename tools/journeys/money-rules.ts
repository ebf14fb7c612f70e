import { inBilling, type Rule } from './invariants.js';

/** Rules of money that hold at any moment. */
export const moneyRules: Record<string, Rule> = {
  'the periods of a subscription tile': inBilling(
    `select subscription_id || ' has a period that ends at ' || before || ', and the next begins at ' || start_at as what
     from (select subscription_id, start_at, lag(end_at) over w as before from subscription_periods where state <> 'void'
       window w as (partition by merchant_id, subscription_id order by start_at, end_at)) p
     where before <> start_at`,
  ),
  'a period is billed once': inBilling(
    `select subscription_id || ' has ' || count(*) || ' invoices for the period from ' || period_start as what
     from invoices where kind = 'invoice' and status in ('paid', 'processing') and period_kind <> ''
     group by merchant_id, subscription_id, period_start, period_kind having count(*) > 1`,
  ),
  'the same time is sold once': inBilling(
    `with sold as (
       select l.*, i.subscription_id from invoice_lines l join invoices i using (merchant_id, invoice_id)
       where i.status = 'paid' and i.kind = 'invoice' and l.item_key ~ '^(plan$|addon:)' and l.source_line_id = ''
         and l.amount > 0 and l.credited_net < l.amount - l.tax)
     select a.line_id || ' and ' || b.line_id || ' sell the same time' as what
     from sold a join sold b using (merchant_id, subscription_id, item_key)
     where a.line_id < b.line_id and least(a.end_at, b.end_at) > greatest(a.start_at, b.start_at)`,
  ),
  'a line gives back what it cost at most': inBilling(
    `select line_id || ' of ' || amount - tax || ' gave back ' || credited_net as what
     from invoice_lines where source_line_id = '' and amount > 0 and credited_net > amount - tax`,
  ),
  'refunds give back what was paid at most': inBilling(
    `select payment_id || ' of ' || payment_amount || ' gave back ' || refunded_amount as what
     from payments where refunded_amount > payment_amount`,
  ),
};

/** A rule of money that holds once nothing is under way: what was taken beside a success is a surplus, which is credit. */
export const settledMoneyRules: Record<string, Rule> = {
  'a document is paid once': inBilling(
    `select p.invoice_id || ' was charged ' || count(*) || ' times' as what
     from sandbox_charges c join payments p on p.merchant_id = c.merchant_id
       and p.payment_id = regexp_replace(c.idempotency_key, '-\\d+$', '')
     where c.kind = 'charge' and c.state = 'succeeded' group by p.merchant_id, p.invoice_id
     having count(*) > 1 + (select count(*) from payment_surpluses s
       where s.merchant_id = p.merchant_id and s.invoice_id = p.invoice_id)`,
  ),
};
