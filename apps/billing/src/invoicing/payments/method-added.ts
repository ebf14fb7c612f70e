import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { METHOD_ADDED, userOfKey } from '../../gateways/chargeable.js';
import { chargeWork } from './collect.js';

/**
 * The open invoices of the user at the gateway that are charged automatically, finished and last tried before the method.
 * A hard decline had ended their automatic attempts: these begin again.
 */
const tried = `update collections c set try_now = true, next_time = case
    when c.next_time = 0 and (c.max_retries = 0 or c.attempts <= c.max_retries) then $5 + c.retry_interval_seconds
    else c.next_time end
  from invoices i
  where c.merchant_id = $1 and i.merchant_id = $1 and i.invoice_id = c.invoice_id and c.automatic
    and greatest(c.last_time, i.finish_time) < $4 and i.user_id = $2 and i.gateway_id = $3 and i.status = 'processing' and i.kind = 'invoice'
  returning c.invoice_id`;

/** Tries open invoices at once with a payment method that their user has saved. Each is a part of its own work. */
export const methodAdded: Work = work(METHOD_ADDED, { time: 'merchant', logged: false }, tryWith);

async function tryWith(tx: Tx, items: readonly WorkItem[]): Promise<void> {
  for (const { key, dueAt } of items) {
    const { gatewayId, userId } = userOfKey(key);
    const rows = await tx.run(tried, [tx.merchantId, userId, gatewayId, dueAt, tx.now]);
    for (const { invoice_id } of rows) tx.schedule(chargeWork.attempt, String(invoice_id), tx.now);
  }
}
