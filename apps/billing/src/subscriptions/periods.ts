import type { Tx } from '@recur/platform';
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
