import type { BillItem } from '../../invoicing/composed/bill.js';

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

export const carriedItem = ({ key, planId, name, description, amount, start, end }: CarriedLine): BillItem => ({
  ...{ key, kind: 'carried', planId, plan: null, name, description, quantity: 1 },
  unitAmount: BigInt(amount),
  stretch: start === 0 ? null : { start, end },
});

/** A line that is carried: what is left of it after its discount. */
export const carriedLine = (item: BillItem, amount: bigint): CarriedLine => ({
  ...{ key: item.key, planId: item.planId, name: item.name, description: item.description, amount: Number(amount) },
  ...{ start: item.stretch?.start ?? 0, end: item.stretch?.end ?? 0 },
});
