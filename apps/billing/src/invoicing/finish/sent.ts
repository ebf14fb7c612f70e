import { sendStatus } from '@recur/contracts';
import type { Tx } from '@recur/platform';

/**
 * Records that documents were sent by e-mail. The row alone changes, without a version or an event: how an e-mail went is
 * told by the history of e-mails.
 */
export async function markSent(tx: Tx, invoiceIds: readonly string[]): Promise<void> {
  await tx.run(
    `update invoices set send_status = $3 where merchant_id = $1 and send_status <> $3 and invoice_id in (
       select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) order by invoice_id for update)`,
    [tx.merchantId, invoiceIds, sendStatus.sent],
  );
}
