import { ratio } from '@recur/kernel';
import type { BillItem } from '../../invoicing/composed/domain/bill.js';
import { promoBack, type SoldLine } from '../../invoicing/composed/domain/sold-line.js';
import { creditUnused, type Stretch } from '../../pricing/proration.js';

/**
 * The unused time of a line from `at` on, as an item: at its own rate, naming its line. At most what is left of its net.
 */
export function creditItem(line: SoldLine, at: number): BillItem {
  const start = Math.max(at, line.stretch.start);
  const unused = { start, end: line.stretch.end };
  const { amount, derivation } = creditUnused(line, line.stretch, start);
  const promoCredits = promoBack(line, secondsOf(unused), secondsOf(line.stretch));
  return {
    key: line.key,
    kind: 'credit',
    planId: line.planId,
    plan: line.plan,
    name: line.name,
    description: `Unused time of ${line.quantity} × ${line.name}`,
    unitAmount: amount,
    quantity: 1,
    stretch: unused,
    derivation:
      promoCredits === 0n
        ? derivation
        : { ...derivation, inputs: { ...derivation.inputs, promoCredits: Number(promoCredits) } },
    source: { lineId: line.lineId, invoiceId: line.invoiceId, rate: line.rate, promoCredits },
  };
}

/** True if a line still sells time at `at`. */
export const sellsAt = ({ stretch }: SoldLine, at: number): boolean => stretch.end > at;

/** The discount of a line for a full period. */
export const fullDiscount = ({ discount, stretch }: SoldLine, full: Stretch): bigint =>
  discount === 0n ? 0n : ratio(discount, secondsOf(full), secondsOf(stretch), 'half-away-from-zero');

export const secondsOf = ({ start, end }: Stretch): bigint => BigInt(end - start);
