import { ratio, sum } from '@recur/kernel';
import type { BillItem } from '../../invoices/domain/items.js';
import type { Stretch } from '../../pricing/proration.js';

/** Lines below the gateway's minimum, unbilled until the next invoice, where they come first and are taxed. */
export interface CarriedLine {
  key: string;
  planId: number;
  name: string;
  description: string;
  /** Minor units of the subscription's currency; negative for credit. */
  amount: number;
  start: number;
  end: number;
}

interface InvoiceLineFacts {
  itemKey: string;
  planId: number;
  name: string;
  description: string;
  amountExcludingTax: bigint;
  discountAmount: bigint;
  startAt: number;
  endAt: number;
}

/** Begins the item key of a carried line. */
const CARRIED = 'carried:';

export const carriedItem = ({ key, planId, name, description, amount, start, end }: CarriedLine): BillItem => ({
  key: `${CARRIED}${key}`,
  kind: 'carried',
  planId,
  plan: null,
  name,
  description,
  quantity: 1,
  unitAmount: BigInt(amount),
  stretch: start === 0 ? null : { start, end },
});

/** The carried lines of an invoice that was cancelled: they are unbilled again. */
export const carriedLinesOf = (lines: readonly InvoiceLineFacts[]): CarriedLine[] =>
  lines
    .filter(({ itemKey }) => itemKey.startsWith(CARRIED))
    .map(({ itemKey, planId, name, description, amountExcludingTax, discountAmount, startAt: start, endAt: end }) => ({
      key: itemKey.slice(CARRIED.length),
      planId,
      name,
      description,
      start,
      end,
      amount: Number(amountExcludingTax - discountAmount),
    }));

/** A line that is carried: what is left of it after its discount. */
export const carriedLine = (item: BillItem, amount: bigint): CarriedLine => ({
  key: item.key.replace(CARRIED, ''),
  planId: item.planId,
  name: item.name,
  description: item.description,
  amount: Number(amount),
  start: item.stretch?.start ?? 0,
  end: item.stretch?.end ?? 0,
});

/**
 * Carried lines once some of them end at a moment: a line that charges their time charges what was used of it, as credit
 * lines do for time that was billed.
 */
export const usedUntil = (
  carried: readonly CarriedLine[],
  at: number,
  isEnded: (line: CarriedLine) => boolean = () => true,
): CarriedLine[] =>
  carried.map(line => {
    const { key, amount, start, end } = line;
    if (amount <= 0 || end <= at || !/^(plan$|addon:)/.test(key) || !isEnded(line)) return line;
    const unused = ratio(BigInt(amount), BigInt(end - Math.max(at, start)), BigInt(end - start), 'half-away-from-zero');
    return { ...line, amount: amount - Number(unused), end: Math.max(at, start) };
  });

/** Carried lines after a period has moved, with the time that they sell. */
export const carriedMoved = (carried: readonly CarriedLine[], from: Stretch, to: Stretch): CarriedLine[] =>
  carried.map(line => (line.start === from.start && line.end === from.end ? { ...line, ...to } : line));

/** The net of carried lines; below zero, they are credit. */
export const carriedNet = (carried: readonly CarriedLine[]): bigint => sum(carried.map(({ amount }) => BigInt(amount)));
