import type { Reader, Tx } from '@recur/platform';
import type { InvoiceState } from '../invoices/state.js';
import { notBilled, type PeriodRow, type PeriodState } from './domain/periods.js';
import type { Subscription } from './domain/subscription.js';
import { subscriptionPeriods } from './tables.js';

// Verbs on the period table. The subscription is locked.

/** An invoice of a subscription that ended, with the locked subscription. */
export interface InvoiceOutcome {
  invoice: InvoiceState;
  sub: Subscription;
}

const seqText = `select (select coalesce(max(seq), 0) + 1 from subscription_periods
    where merchant_id = $1 and subscription_id = asked.id) as seq
  from unnest($2::text[]) with ordinality asked(id, n) order by n`;

/** The number of a subscription's next period. */
export const nextSeq = (tx: Tx, subscriptionId: string): Promise<number> =>
  tx.jointly('period', subscriptionId, async ids => {
    const rows = await tx.query(seqText, [tx.merchantId, ids]);
    return rows.map(({ seq }) => Number(seq));
  });

type NewPeriod = Omit<PeriodRow, 'merchantId' | 'seq' | 'createTime' | keyof typeof notBilled> & Partial<PeriodRow>;

/** Adds periods of a subscription after those that are there, and returns the first. */
export async function addPeriod(tx: Tx, first: NewPeriod, ...others: NewPeriod[]): Promise<PeriodRow> {
  const { merchantId, now: createTime } = tx;
  const seq = await nextSeq(tx, first.subscriptionId);
  const added = { ...notBilled, ...first, merchantId, seq, createTime };
  tx.save(subscriptionPeriods, added);
  others.forEach((period, i) => {
    tx.save(subscriptionPeriods, { ...notBilled, ...period, merchantId, seq: seq + 1 + i, createTime });
  });
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

/** Takes a locked period out of the subscription's time, at once: the unique index has to see it before another one. */
export const voidPeriod = (tx: Tx, row: PeriodRow): Promise<void> =>
  tx.saveNow(subscriptionPeriods, { ...row, state: 'void', remakeAt: 0 });

/** Gives a locked period another invoice, at once: the one that it had has no effect on it any more. */
export const reinvoice = (tx: Tx, row: PeriodRow, invoiceId: string): Promise<void> =>
  tx.saveNow(subscriptionPeriods, { ...row, invoiceId, timesMade: row.timesMade + 1 });
