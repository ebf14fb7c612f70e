import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { announcedBy, METHOD_ADDED } from '../../gateways/chargeable.js';
import { chargeWork } from './collect.js';

/** Invoices of one statement; the rest follow in another item. */
const limits = { invoices: 500 } as const;

/**
 * The open invoices of the user at the gateway that are charged automatically and were finished and last tried before the
 * method was added, be it in the same second: test clocks stand still. Ids are in the order of time, which tells a method
 * that was there before the invoice. A hard decline had ended their automatic attempts: these begin again.
 */
const tried = `with found as (select i.invoice_id from invoices i join collections c using (merchant_id, invoice_id)
    where i.merchant_id = $1 and i.user_id = $2 and i.gateway_id = $3 and i.status = 'processing' and i.kind = 'invoice'
      and c.automatic and not c.try_now
      and ($6 = '' or substr($6, 4) collate "C" > substr(i.invoice_id, 4) collate "C") and (greatest(c.last_time, i.finish_time) < $4
        or c.awaits_method or c.last_time = $4 and c.last_method_id <> $6)
    order by i.invoice_id limit ${limits.invoices})
  update collections c set try_now = true, try_method_id = $6, next_time = case
      when c.next_time = 0 and (c.max_retries = 0 or c.attempts <= c.max_retries) then $5 + c.retry_interval_seconds
      else c.next_time end
    from found where c.merchant_id = $1 and c.invoice_id = found.invoice_id
    returning c.invoice_id`;

/** Tries open invoices at once with a payment method that their user has saved. Each is a part of its own work. */
export const methodAdded: Work = work(METHOD_ADDED, { time: 'merchant', logged: false }, tryWith);

async function tryWith(tx: Tx, items: readonly WorkItem[]): Promise<void> {
  for (const { key, dueAt } of items) {
    const { gatewayId, userId, methodId } = announcedBy(key);
    const rows = await tx.run(tried, [tx.merchantId, userId, gatewayId, dueAt, tx.now, methodId]);
    for (const { invoice_id } of rows) tx.schedule(chargeWork.attempt, String(invoice_id), tx.now);
    if (rows.length === limits.invoices) tx.schedule(METHOD_ADDED, key, dueAt);
  }
}
