import { amountAt, clampToZero, type Issue, invalid, isSafe, Rejected, reduceOver, subtract, sum } from '@recur/kernel';
import { type PromoTerms, promoOn } from './credit.js';
import { type DiscountTerms, discountOn } from './discount.js';
import { commonPercentage, ppmOf, type TaxGroup, type TaxRate, taxesOn } from './tax.js';

/** Item sold on a line. A negative unit amount makes it a credit line. */
export interface LineItem {
  /** Minor units. */
  unitAmountExcludingTax: bigint;
  quantity: number;
}

/** Amounts of a line, in minor units. All of them are stored, none is recomputed for display. */
export interface LineAmounts {
  /** unitAmountExcludingTax × quantity: before discount, promo credit and tax. */
  amountExcludingTax: bigint;
  /** Share of the promo credit; positive lines only. */
  promoAmount: bigint;
  /** Share of the discount; positive lines only. */
  discountAmount: bigint;
  /** Share of the tax of its rate group; negative on a credit line. */
  tax: bigint;
  /** amountExcludingTax − discountAmount − promoAmount + tax. */
  amount: bigint;
  /** amount + promoAmount + discountAmount. */
  originAmount: bigint;
}

/** Amounts of an invoice, in minor units: the sums over its lines. */
export interface InvoiceAmounts {
  promoAmount: bigint;
  discountAmount: bigint;
  taxAmount: bigint;
  /** Net: subtotal − discount − promo credit. */
  totalAmountExcludingTax: bigint;
  /** Net + tax. Negative for a credit note. */
  totalAmount: bigint;
  originAmount: bigint;
}

/** A line to price, with the tax rate decided for it. */
export interface ComposeLine extends LineItem {
  rate: TaxRate;
  /** True if a discount code covers the line (`isDiscountable`); it never reduces a negative line. */
  discountable?: boolean;
}

/** A priced line: its amounts, and the net that its tax is on. */
export interface ComposedLine extends LineAmounts {
  /** amountExcludingTax − discountAmount − promoAmount. */
  net: bigint;
  rate: TaxRate;
}

export interface Composition {
  lines: ComposedLine[];
  taxes: TaxGroup[];
  amounts: InvoiceAmounts;
  /** Credits that the promo credit costs. */
  promoCredits: bigint;
  /** Percentage that all lines have in common (10000 = 100 %), else 0. */
  taxPercentage: number;
}

/** Reductions before tax. */
export interface Reductions {
  discount?: DiscountTerms;
  promo?: PromoTerms;
}

/**
 * Prices an invoice or credit note: discount → promo credit → tax per rate group → totals. The lines add up to the
 * document to the last minor unit.
 *
 * - The discount's base are the positive discountable lines; its shares go over them by largest remainder.
 * - The base of promo credit is what is left of all lines, negative ones included, so it never makes a total negative;
 *   its shares go over what is left of the positive lines.
 * - Tax: see `taxesOn`.
 *
 * A negative total is a credit note (`credit-note.ts`). Throws what `promoOn` does, and Rejected `invalid_parameters`
 * for /lines/<i>/unitAmountExcludingTax if an amount would leave ±(2^53−1).
 */
export function priceLines(items: readonly ComposeLine[], { discount, promo }: Reductions = {}): Composition {
  const gross = items.map(grossOf);
  const covered = gross.map((amount, i) => (items[i]?.discountable ? clampToZero(amount) : 0n));
  const discounts = reduceOver(discount ? discountOn(sum(covered), discount) : 0n, covered);
  const discounted = subtract(gross, discounts);
  const spent = promo ? promoOn(clampToZero(sum(discounted)), promo) : { amount: 0n, credits: 0n };
  const promos = reduceOver(spent.amount, discounted);
  const rates = items.map(({ rate }) => rate);
  const { lines, groups, amounts } = assemble({ gross, discounts, promos }, rates);
  return {
    lines: lines.map((line, i) => ({ ...line, net: line.amount - line.tax, rate: rates[i] as TaxRate })),
    taxes: groups,
    amounts,
    promoCredits: spent.credits,
    taxPercentage: commonPercentage(rates),
  };
}

/** Reductions that the caller has computed, in minor units. */
export interface GivenReductions {
  discount?: bigint;
  promo?: bigint;
}

/**
 * Prices an invoice whose lines have one rate, `taxBps` in basis points, with given reductions. Throws Rejected
 * `invalid_parameters` for /lines if the sum is negative, and what `priceWith` does.
 */
export function price(
  items: readonly LineItem[],
  taxBps: number,
  promo = 0n,
  discount = 0n,
): { lines: LineAmounts[]; taxes: TaxGroup[]; amounts: InvoiceAmounts } {
  assertNotNegative(items);
  const rate = requestedRate(taxBps);
  return priceWith(
    items,
    items.map(() => rate),
    { promo, discount },
  );
}

/** Throws Rejected `invalid_parameters` for /lines if the sum is negative. */
export function assertNotNegative(items: readonly LineItem[]): void {
  const subtotal = sum(items.map(grossOf));
  if (subtotal < 0n) throw invalid('/lines', `The lines add up to ${subtotal}: a total may not be negative`);
}

/**
 * Prices a document with a rate for each line and given reductions: the discount over the positive lines that it covers
 * (all, unless `discountable` is false), then promo credit over what is left of the positive lines. The sum may be
 * negative. Throws RangeError for reductions beyond what they may reduce, and as `priceLines` does for amounts beyond
 * ±(2^53−1).
 */
export function priceWith(
  items: readonly (LineItem & { discountable?: boolean })[],
  rates: readonly TaxRate[],
  { discount = 0n, promo = 0n }: GivenReductions = {},
): { lines: LineAmounts[]; taxes: TaxGroup[]; amounts: InvoiceAmounts } {
  const gross = items.map(grossOf);
  const left = sum(gross) - discount;
  if (promo < 0n || discount < 0n || promo > clampToZero(left)) {
    throw new RangeError(`discount ${discount} and promo ${promo} on ${left + discount}`);
  }
  const discounts = reduceOver(
    discount,
    gross.map((amount, i) => (items[i]?.discountable === false ? 0n : amount)),
  );
  const promos = reduceOver(promo, subtract(gross, discounts));
  const { lines, groups, amounts } = assemble({ gross, discounts, promos }, rates);
  return { lines, taxes: groups, amounts };
}

/** The rate of a request that states a percentage (10000 = 100 %). */
export const requestedRate = (percentage: number): TaxRate => ({
  category: percentage === 0 ? 'Z' : 'S',
  ratePpm: ppmOf(percentage),
  jurisdiction: '',
  source: 'request',
  reason: 'Rate stated in the request',
});

const grossOf = ({ unitAmountExcludingTax, quantity }: LineItem): bigint => unitAmountExcludingTax * BigInt(quantity);

interface AmountColumns {
  gross: readonly bigint[];
  discounts: readonly bigint[];
  promos: readonly bigint[];
}

/** Taxes the reduced lines and adds everything up. */
function assemble({ gross, discounts, promos }: AmountColumns, rates: readonly TaxRate[]) {
  const nets = subtract(subtract(gross, discounts), promos);
  const { taxes, groups } = taxesOn(nets, rates);
  const lines: LineAmounts[] = gross.map((amountExcludingTax, i) => {
    const tax = amountAt(taxes, i);
    return {
      amountExcludingTax,
      promoAmount: amountAt(promos, i),
      discountAmount: amountAt(discounts, i),
      tax,
      amount: amountAt(nets, i) + tax,
      originAmount: amountExcludingTax + tax,
    };
  });
  const [net, taxAmount] = [sum(nets), sum(groups.map(group => group.tax))];
  const [promoAmount, discountAmount] = [sum(promos), sum(discounts)];
  const totalAmount = net + taxAmount;
  const amounts: InvoiceAmounts = {
    promoAmount,
    discountAmount,
    taxAmount,
    totalAmountExcludingTax: net,
    totalAmount,
    originAmount: totalAmount + discountAmount + promoAmount,
  };
  refuseUnsafe(lines, amounts);
  return { lines, groups, amounts };
}

/** Refuses amounts beyond ±(2^53−1). A line's originAmount is at least as far from zero as its other amounts. */
function refuseUnsafe(lines: readonly LineAmounts[], amounts: InvoiceAmounts): void {
  const issue = (i: number, message: string): Issue => ({ path: `/lines/${i}/unitAmountExcludingTax`, message });
  const own = lines.flatMap(({ originAmount }, i) =>
    isSafe(originAmount) ? [] : [issue(i, `The line comes to ${originAmount}, beyond ±(2^53−1)`)],
  );
  if (own.length > 0) throw new Rejected('invalid_parameters', undefined, own);
  const { originAmount, totalAmountExcludingTax, taxAmount } = amounts;
  // with rate groups of opposite signs, net or tax may be farther from zero than the total
  const total = [originAmount, totalAmountExcludingTax, taxAmount].find(amount => !isSafe(amount));
  if (total === undefined) return;
  let [net, origin] = [0n, 0n];
  const i = lines.findIndex(line => {
    net += line.amountExcludingTax;
    origin += line.originAmount;
    return !isSafe(origin) || !isSafe(net);
  });
  throw new Rejected('invalid_parameters', undefined, [
    issue(i < 0 ? lines.length - 1 : i, `With this line the invoice comes to ${total}, beyond ±(2^53−1)`),
  ]);
}
