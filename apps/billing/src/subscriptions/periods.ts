import type { Tx } from '@recur/platform';
import type { PeriodRow, PeriodState } from './domain/periods.js';
import { subscriptionPeriods } from './tables.js';

// Verbs on the period table. The subscription is locked.

/** Adds a period after those that are there. */
export async function addPeriod(
  tx: Tx,
  period: Omit<PeriodRow, 'merchantId' | 'seq' | 'createTime'>,
): Promise<PeriodRow> {
  const { subscriptionId } = period;
  const [row] = await tx.query(
    'select coalesce(max(seq), 0) + 1 as seq from subscription_periods where merchant_id = $1 and subscription_id = $2',
    [tx.merchantId, subscriptionId],
  );
  const added = { ...period, merchantId: tx.merchantId, seq: Number(row?.seq), createTime: tx.now };
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
