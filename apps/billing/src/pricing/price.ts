import { allocate, apportion, type Issue, invalid, isSafe, Rejected, ratio, SCALE, sum } from '@recur/kernel';

/** What is sold on one line. A negative unit amount makes it a credit line. */
export interface LineItem {
  /** Minor units. */
  unitAmountExcludingTax: bigint;
  quantity: number;
}

/** What one line comes to, in minor units. All of it is stored, none is computed again for display. */
export interface LineAmounts {
  /** unitAmountExcludingTax × quantity: before promo credit, discount and tax. */
  amountExcludingTax: bigint;
  /** Its share of the promo credit; positive lines only. */
  promoAmount: bigint;
  /** Its share of the discount; positive lines only. */
  discountAmount: bigint;
  /** Its share of the invoice's tax; negative on a credit line. */
  tax: bigint;
  /** amountExcludingTax − promoAmount − discountAmount + tax. */
  amount: bigint;
  /** amount + promoAmount + discountAmount. */
  originAmount: bigint;
}

/** What a whole invoice comes to, in minor units: the sums of its lines' amounts. */
export interface InvoiceAmounts {
  promoAmount: bigint;
  discountAmount: bigint;
  taxAmount: bigint;
  /** Net: what was sold − promo credit − discount. */
  totalAmountExcludingTax: bigint;
  /** What is to be paid. */
  totalAmount: bigint;
  originAmount: bigint;
}

/**
 * Prices an invoice, so that its lines add up to it to the last minor unit.
 *
 * - Promo credit is taken first, then the discount; each is allocated over the positive lines in proportion to what is
 *   left of them. Neither may be negative, nor both together more than the lines' sum: the caller caps them
 *   (RangeError).
 * - Tax is rounded once for the invoice: net × taxBps ÷ 10 000, half away from zero. A line's exact tax is
 *   its net × taxBps ÷ 10 000; lines get it floored towards −∞, and what is left is handed out by largest fraction,
 *   the earlier line first (`apportion`).
 *
 * Throws Rejected `invalid_parameters` for /lines where the sum is negative, and for
 * /lines/<i>/unitAmountExcludingTax where an amount would leave ±(2^53−1): a line's own, or, when it is the invoice's,
 * that of the line at which the running sum does.
 */
export function price(
  items: readonly LineItem[],
  taxBps: number,
  promo = 0n,
  discount = 0n,
): { lines: LineAmounts[]; amounts: InvoiceAmounts } {
  const gross = items.map(item => item.unitAmountExcludingTax * BigInt(item.quantity));
  const subtotal = sum(gross);
  if (subtotal < 0n) throw invalid('/lines', `The lines add up to ${subtotal}: a total may not be negative`);
  if (promo < 0n || discount < 0n || promo + discount > subtotal) {
    throw new RangeError(`promo ${promo} and discount ${discount} on ${subtotal}`);
  }

  const promos = reduce(promo, gross);
  const afterPromo = subtract(gross, promos);
  const discounts = reduce(discount, afterPromo);
  const nets = subtract(afterPromo, discounts);

  const net = subtotal - promo - discount;
  const tax = ratio(net, BigInt(taxBps), SCALE, 'half-away-from-zero');
  const taxes = apportion(
    tax,
    nets.map(lineNet => lineNet * BigInt(taxBps)),
    SCALE,
  );

  const lines = gross.map((amountExcludingTax, i) => {
    const lineTax = at(taxes, i);
    return {
      amountExcludingTax,
      promoAmount: at(promos, i),
      discountAmount: at(discounts, i),
      tax: lineTax,
      amount: at(nets, i) + lineTax,
      originAmount: amountExcludingTax + lineTax,
    };
  });
  refuseUnsafe(lines);
  const totalAmount = net + tax;
  const amounts: InvoiceAmounts = {
    promoAmount: promo,
    discountAmount: discount,
    taxAmount: tax,
    totalAmountExcludingTax: net,
    totalAmount,
    originAmount: totalAmount + discount + promo,
  };
  return { lines, amounts };
}

/** Shares of a reduction, over what is positive. */
const reduce = (total: bigint, amounts: readonly bigint[]): bigint[] =>
  allocate(
    total,
    amounts.map(amount => (amount > 0n ? amount : 0n)),
  );

const subtract = (amounts: readonly bigint[], less: readonly bigint[]): bigint[] =>
  amounts.map((amount, i) => amount - at(less, i));

const at = (amounts: readonly bigint[], i: number): bigint => amounts[i] ?? 0n;

/** A line's originAmount is at least as far from zero as its other amounts, and so is an invoice's. */
function refuseUnsafe(lines: readonly LineAmounts[]): void {
  const issue = (i: number, message: string): Issue => ({ path: `/lines/${i}/unitAmountExcludingTax`, message });
  const own = lines.flatMap(({ originAmount }, i) =>
    isSafe(originAmount) ? [] : [issue(i, `The line comes to ${originAmount}, beyond ±(2^53−1)`)],
  );
  if (own.length > 0) throw new Rejected('invalid_parameters', undefined, own);
  const total = sum(lines.map(line => line.originAmount));
  if (isSafe(total)) return;
  let running = 0n;
  const i = lines.findIndex(({ originAmount }) => {
    running += originAmount;
    return !isSafe(running);
  });
  throw new Rejected('invalid_parameters', undefined, [
    issue(i, `With this line the invoice comes to ${total}, beyond ±(2^53−1)`),
  ]);
}
