import type { Plan } from '@recur/contracts';
import { ratio } from '@recur/kernel';
import type { Stretch } from '../../../pricing/proration.js';
import type { TaxRate } from '../../../pricing/tax.js';

/**
 * A line of a paid document that sells time of a subscription and is in force: the only source of a credit. Money in
 * minor units.
 */
export interface SoldLine {
  lineId: string;
  invoiceId: string;
  /** `plan` or `addon:<planId>`. */
  key: string;
  planId: number;
  plan: Plan | null;
  name: string;
  /** Price of the item for a full period. */
  unitAmount: bigint;
  quantity: number;
  stretch: Stretch;
  /** After discount and promo credit, before tax; and what was given back of it in any way. */
  net: bigint;
  creditedNet: bigint;
  /** Share of the discount. */
  discount: bigint;
  /** Promo credits of its document, and its share of them: `share` of `total` in money. */
  promo: { credits: bigint; share: bigint; total: bigint };
  /** The rate at which it was taxed. */
  rate: TaxRate;
}

/** Promo credits that come back with the unused part of a line, floored. */
export const promoBack = ({ promo }: Pick<SoldLine, 'promo'>, unusedSeconds: bigint, seconds: bigint): bigint =>
  promo.total === 0n ? 0n : ratio(promo.credits * promo.share, unusedSeconds, promo.total * seconds, 'floor');

interface CreditLine {
  sourceLineId: string;
  inputs: Readonly<Record<string, number | string>> | null;
}

/** Promo credits that come back with a credit line. */
export const promoOf = ({ inputs }: Pick<CreditLine, 'inputs'>): bigint => BigInt(inputs?.promoCredits ?? 0);

/** Promo credits that come back with the credit lines of a document. */
export const promoReturnedBy = ({ lines }: { lines: readonly CreditLine[] }): bigint =>
  lines.reduce((total, line) => total + (line.sourceLineId === '' ? 0n : promoOf(line)), 0n);
