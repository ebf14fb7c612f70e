import type { BillItem } from '../../invoicing/composed/domain/bill.js';

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
  ...{ key: `${CARRIED}${key}`, kind: 'carried', planId, plan: null, name, description, quantity: 1 },
  unitAmount: BigInt(amount),
  stretch: start === 0 ? null : { start, end },
});

/** The carried lines of an invoice that was cancelled: they are unbilled again. */
export const carriedLinesOf = (lines: readonly InvoiceLineFacts[]): CarriedLine[] =>
  lines
    .filter(({ itemKey }) => itemKey.startsWith(CARRIED))
    .map(({ itemKey, planId, name, description, amountExcludingTax, discountAmount, startAt: start, endAt: end }) => ({
      ...{ key: itemKey.slice(CARRIED.length), planId, name, description, start, end },
      amount: Number(amountExcludingTax - discountAmount),
    }));

/** A line that is carried: what is left of it after its discount. */
export const carriedLine = (item: BillItem, amount: bigint): CarriedLine => ({
  ...{
    key: item.key.replace(CARRIED, ''),
    planId: item.planId,
    name: item.name,
    description: item.description,
    amount: Number(amount),
  },
  ...{ start: item.stretch?.start ?? 0, end: item.stretch?.end ?? 0 },
});
