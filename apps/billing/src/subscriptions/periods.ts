import type { Reader, Tx } from '@recur/platform';
import { notBilled, type PeriodRow, type PeriodState } from './domain/periods.js';
import { subscriptionPeriods } from './tables.js';

// Verbs on the period table. The subscription is locked.

const seqText = `select coalesce(max(seq), 0) + 1 as seq from subscription_periods
  where merchant_id = $1 and subscription_id = $2`;

/** The number of a subscription's next period. */
export async function nextSeq(tx: Tx, subscriptionId: string): Promise<number> {
  const [row] = await tx.query(seqText, [tx.merchantId, subscriptionId]);
  return Number(row?.seq);
}

/** Adds a period after those that are there. */
export async function addPeriod(
  tx: Tx,
  period: Omit<PeriodRow, 'merchantId' | 'seq' | 'createTime' | keyof typeof notBilled> & Partial<PeriodRow>,
): Promise<PeriodRow> {
  const { subscriptionId } = period;
  const seq = await nextSeq(tx, subscriptionId);
  const added = { ...notBilled, ...period, merchantId: tx.merchantId, seq, createTime: tx.now };
  tx.save(subscriptionPeriods, added);
  return added;
}

/** Marks the period of an invoice. */
export async function markPeriod(
  tx: Tx,
  { subscriptionId, invoiceId }: { subscriptionId: string; invoiceId: string },
  state: PeriodState,
): Promise<void> {
  const rows = await tx.parts(subscriptionPeriods, { subscriptionId, invoiceId }, 'order by seq');
  for (const row of rows) if (row.state !== 'void') tx.save(subscriptionPeriods, { ...row, state });
}

/** Live periods that end after a time, in order; there are at most a few. In a transaction they are locked. */
export async function periodsFrom(reader: Reader, subscriptionId: string, time: number): Promise<PeriodRow[]> {
  const newest = await reader.parts(subscriptionPeriods, { subscriptionId }, newestLive);
  return newest.filter(({ endAt }) => endAt > time).reverse();
}

/** More than are live after any time: the current one, the next one, and one that was appended. */
const newestLive = `and state <> 'void' order by start_at desc limit 8`;

/** Ends a period early. */
export const endPeriod = (tx: Tx, row: PeriodRow, endAt: number): void =>
  tx.save(subscriptionPeriods, { ...row, endAt });

/**
 * Takes a period, which is locked, out of the subscription's time, at once: the unique index has to see it before one that
 * replaces it.
 */
export async function voidPeriod(tx: Tx, row: PeriodRow): Promise<void> {
  const { subscriptionId, seq } = row;
  await tx.run(
    `update subscription_periods set state = 'void' where merchant_id = $1 and subscription_id = $2 and seq = $3`,
    [tx.merchantId, subscriptionId, seq],
  );
  // the end of its invoice finds it void
  tx.save(subscriptionPeriods, { ...row, state: 'void' });
}

/** Gives a period another invoice, at once: the one that it had has no effect on it any more. */
export async function reinvoice(tx: Tx, { subscriptionId, seq }: PeriodRow, invoiceId: string): Promise<void> {
  await tx.run(
    'update subscription_periods set invoice_id = $4 where merchant_id = $1 and subscription_id = $2 and seq = $3',
    [tx.merchantId, subscriptionId, seq, invoiceId],
  );
}
