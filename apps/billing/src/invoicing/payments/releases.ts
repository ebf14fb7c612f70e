import type { Tx } from '@recur/platform';
import { chargeWork } from './collect.js';

/** Seconds after which a release is looked for again, where nothing told of it. */
export const releaseSeconds = 60;

/** A release that takes longer than this holds up nothing more. */
const longestSeconds = 3_600;

/** Users of invoices ($2) with a charge that was ended since $3 and may still be taken at its gateway. */
const unreleased = `select distinct p.user_id from payments p
  where p.merchant_id = $1 and p.outcome <> '' and p.status in ('cancelled', 'failed') and p.modify_time >= $3
    and p.user_id in (select user_id from invoices where merchant_id = $1 and invoice_id = any($2))`;

/** Open invoices of a user ($2) whose attempt is due ($3), in the order of locks. */
const waiting = `select i.invoice_id from invoices i join collections c using (merchant_id, invoice_id)
  where i.merchant_id = $1 and i.user_id = $2 and i.status = 'processing' and i.kind = 'invoice'
    and (c.try_now or c.try_method_id <> '' or c.next_time between 1 and $3)
  order by i.invoice_id limit 100`;

/**
 * Users among those of invoices who are not charged for the moment: a charge of theirs that was ended, because another one
 * replaces it, may still be completed by them until its gateway has released it.
 */
export async function unreleasedUsers(tx: Tx, invoiceIds: readonly string[]): Promise<ReadonlySet<number>> {
  const rows = await tx.query(unreleased, [tx.merchantId, invoiceIds, tx.now - longestSeconds]);
  return new Set(rows.map(row => Number(row.user_id)));
}

/** The gateway has released an ended charge of a user: the attempts that waited for it are made. */
export async function goOnAfterRelease(tx: Tx, { userId }: { userId: number }): Promise<void> {
  const rows = await tx.query(waiting, [tx.merchantId, userId, tx.now]);
  for (const { invoice_id } of rows) tx.schedule(chargeWork.attempt, String(invoice_id), tx.now);
}
