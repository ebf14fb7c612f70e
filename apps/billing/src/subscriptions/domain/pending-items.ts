import { ratio, sum } from '@recur/kernel';
import type { InvoiceItem } from '../../invoices/domain/items.js';
import type { ServicePeriod } from '../../pricing/proration.js';

/** Lines below the gateway's minimum, unbilled until the next invoice, where they come first and are taxed. */
export interface PendingItem {
  key: string;
  planId: number;
  name: string;
  description: string;
  /** Minor units of the subscription's currency; negative for credit. */
  amount: number;
  start: number;
  end: number;
}

interface PendingLine {
  itemKey: string;
  planId: number;
  name: string;
  description: string;
  amountExcludingTax: bigint;
  discountAmount: bigint;
  startAt: number;
  endAt: number;
}

/** Begins the item key of a pending item. */
const PENDING_KEY = 'carried:';

export const pendingInvoiceItem = ({
  key,
  planId,
  name,
  description,
  amount,
  start,
  end,
}: PendingItem): InvoiceItem => ({
  key: `${PENDING_KEY}${key}`,
  kind: 'carried',
  planId,
  plan: null,
  name,
  description,
  quantity: 1,
  unitAmount: BigInt(amount),
  period: start === 0 ? null : { start, end },
});

/** The pending items of an invoice that was cancelled: they are unbilled again. */
export const pendingItemsOf = (lines: readonly PendingLine[]): PendingItem[] =>
  lines
    .filter(({ itemKey }) => itemKey.startsWith(PENDING_KEY))
    .map(({ itemKey, planId, name, description, amountExcludingTax, discountAmount, startAt: start, endAt: end }) => ({
      key: itemKey.slice(PENDING_KEY.length),
      planId,
      name,
      description,
      start,
      end,
      amount: Number(amountExcludingTax - discountAmount),
    }));

/** A line that is carried: what is left of it after its discount. */
export const pendingItem = (item: InvoiceItem, amount: bigint): PendingItem => ({
  key: item.key.replace(PENDING_KEY, ''),
  planId: item.planId,
  name: item.name,
  description: item.description,
  amount: Number(amount),
  start: item.period?.start ?? 0,
  end: item.period?.end ?? 0,
});

/**
 * Pending items once some of them end at a moment: a line that charges their time charges what was used of it, as credit
 * lines do for time that was billed.
 */
export const pendingUntil = (
  carried: readonly PendingItem[],
  at: number,
  isEnded: (line: PendingItem) => boolean = () => true,
): PendingItem[] =>
  carried.map(line => {
    const { key, amount, start, end } = line;
    if (amount <= 0 || end <= at || !/^(plan$|addon:)/.test(key) || !isEnded(line)) return line;
    const unused = ratio(BigInt(amount), BigInt(end - Math.max(at, start)), BigInt(end - start), 'half-away-from-zero');
    return { ...line, amount: amount - Number(unused), end: Math.max(at, start) };
  });

/** Pending items after a period has moved, with the time that they sell. */
export const movedPendingItems = (
  carried: readonly PendingItem[],
  from: ServicePeriod,
  to: ServicePeriod,
): PendingItem[] =>
  carried.map(line => (line.start === from.start && line.end === from.end ? { ...line, ...to } : line));

/** The net of pending items; below zero, they are credit. */
export const pendingNet = (carried: readonly PendingItem[]): bigint => sum(carried.map(({ amount }) => BigInt(amount)));
