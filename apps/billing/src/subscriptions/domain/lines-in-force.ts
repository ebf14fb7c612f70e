import { ratio } from '@recur/kernel';
import type { Derivation } from '../../pricing/explain.js';
import { promoUnused } from '../../pricing/promo.js';
import { creditUnused, prorationScale, type Stretch } from '../../pricing/proration.js';
import type { TaxRate } from '../../pricing/tax.js';
import type { BillItem } from './bill-types.js';

/**
 * A paid line that sells time and has not ended: the only source of a credit. A change ends the lines that it credits;
 * unused time is credited at most up to the line's net, and never twice.
 */
export interface LineInForce {
  lineId: string;
  invoiceId: string;
  /** 'plan' or 'addon:<id>'. */
  key: string;
  planId: number;
  plan: BillItem['plan'];
  name: string;
  /** Price of the item for a full period. */
  unitAmount: bigint;
  quantity: number;
  /** The time that the line sold. */
  stretch: Stretch;
  /** After discount and promo credit, before tax; and what was given back of it in any way. */
  net: bigint;
  creditedNet: bigint;
  /** Its share of the discount for that time, minor units. */
  discount: bigint;
  /** Its share of the promo credit, in credits. */
  promoCredits: bigint;
  /** The rate at which the line was taxed. */
  rate: TaxRate;
}

/** The unused time of a line from `at` on, as an item: at its own rate, naming its line. */
export function creditItem(line: LineInForce, at: number): BillItem {
  const from = Math.max(at, line.stretch.start);
  const unused = { start: from, end: line.stretch.end };
  const { amount, derivation } = creditUnused(line, line.stretch, from);
  return {
    ...{ key: line.key, kind: 'credit', planId: line.planId, plan: line.plan },
    name: line.name,
    description: `Unused time of ${line.quantity} × ${line.name}`,
    ...{ unitAmount: amount, quantity: 1, stretch: unused },
    derivation: withScale(derivation, unused, line.stretch),
    source: {
      ...{ lineId: line.lineId, invoiceId: line.invoiceId, rate: line.rate },
      promoCredits: promoUnused(line.promoCredits, secondsOf(unused), secondsOf(line.stretch)),
    },
  };
}

/** A derivation with the fraction of the period for display. */
export const withScale = ({ formula, inputs }: Derivation, part: Stretch, period: Stretch): Derivation => ({
  formula,
  inputs: { ...inputs, prorationScale: prorationScale(part, period) },
});

/** True if a line still sells time at `at`. */
export const sellsAt = ({ stretch }: LineInForce, at: number): boolean => stretch.end > at;

/** The discount of a line for a full period. */
export const fullDiscount = ({ discount, stretch }: LineInForce, full: Stretch): bigint =>
  discount === 0n ? 0n : ratio(discount, secondsOf(full), secondsOf(stretch), 'half-away-from-zero');

export const secondsOf = ({ start, end }: Stretch): bigint => BigInt(end - start);
