import type { Discount, Plan } from '@recur/contracts';
import { sum } from '@recur/kernel';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { type DiscountTerms, discountOn, isDiscountable, type LineKind } from '../../pricing/discount.js';
import { positive } from '../../pricing/shares.js';
import type { Draft, LineToPrice } from '../domain/draft.js';
import type { TaxedLine, TaxedSale } from '../finish/taxes.js';

/** A line of a composed document. */
export interface OrderLine extends LineToPrice, TaxedLine {
  kind: LineKind;
  plan: Plan | null;
  /** Promo credits that a credit line returns, besides its money. */
  promoCreditsReturned?: bigint;
}

/** A discount as it reduces one document. */
export interface AppliedDiscount {
  terms: DiscountTerms;
  /** As the document shows it. */
  shown: Discount | null;
}

/** Wish for promo credit; `recurring` leaves it to the merchant's credit config, for invoices of a cycle. */
export interface PromoWish {
  applied: boolean | 'recurring';
  /** Most credits; 0 for no cap. */
  cap: bigint;
}

/** A document to be composed, by the wing that sells what is on it. */
export interface Order
  extends Omit<TaxedSale, 'gatewayName'>,
    Pick<Draft, 'bizType' | 'createFrom' | 'invoiceName' | 'currency'> {
  gateway: Gateway | undefined;
  lines: readonly OrderLine[];
  discount?: AppliedDiscount;
  promo?: PromoWish;
  /**
   * Treatment of an amount due below the gateway's minimum: `carry` makes no document, and the lines stay unbilled;
   * `refuse` throws Rejected `amount_below_minimum`.
   */
  belowMinimum: 'carry' | 'refuse';
}

/** Name of the input of a credit line under which the promo credits that it returns are stored. */
export const RETURNED = 'promoCreditsReturned';

/** The lines as pricing takes them: with their coverage by the discount, and what a credit line returns. */
export const linesOf = ({ lines }: Order): LineToPrice[] =>
  lines.map(({ promoCreditsReturned: returned = 0n, inputs, ...line }) => ({
    ...line,
    ...((inputs || returned > 0n) && { inputs: { ...inputs, ...(returned > 0n && { [RETURNED]: Number(returned) }) } }),
    discountable: isDiscountable(line.kind),
  }));

const grossOf = ({ unitAmountExcludingTax, quantity }: OrderLine) => unitAmountExcludingTax * BigInt(quantity);

/** The discount in minor units: on the positive lines that a code covers. */
export const discountOf = ({ lines, discount }: Pick<Order, 'lines' | 'discount'>): bigint =>
  discount
    ? discountOn(
        sum(lines.filter(({ kind }) => isDiscountable(kind)).map(line => positive(grossOf(line)))),
        discount.terms,
      )
    : 0n;

/** The base of promo credit: what the discount leaves of all lines, negative ones included. */
export const promoBaseOf = (order: Pick<Order, 'lines' | 'discount'>): bigint =>
  positive(sum(order.lines.map(grossOf)) - discountOf(order));
