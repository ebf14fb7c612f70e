import type { ComposeLine, Composition } from '../../src/pricing/price.js';
import type { RefundLedger } from '../../src/pricing/refund.js';
import type { TaxRate } from '../../src/pricing/tax.js';

/** A standard rate in percent; 8.875 is 88 750 parts per million. */
export const rate = (percent: number, over: Partial<TaxRate> = {}): TaxRate => ({
  category: percent === 0 ? 'Z' : 'S',
  ratePpm: Math.round(percent * 10_000),
  jurisdiction: 'EE',
  source: 'country',
  reason: 'Standard rate of EE',
  ...over,
});

export const reverseCharge: TaxRate = rate(0, { category: 'AE', source: 'vies', reason: 'Reverse charge' });

/** A line of quantity 1 that a code covers. */
export const line = (amount: bigint, tax: TaxRate = rate(0), over: Partial<ComposeLine> = {}): ComposeLine => ({
  unitAmountExcludingTax: amount,
  quantity: 1,
  rate: tax,
  discountable: true,
  ...over,
});

const nothing = { net: 0n, tax: 0n };

/** The ledger of an invoice that was paid in full. */
export const ledgerOf = (
  { lines, amounts, promoCredits }: Composition,
  over: Partial<RefundLedger> = {},
): RefundLedger => ({
  invoiceId: 'in_1',
  lines: lines.map(({ net, tax, rate: { category, ratePpm } }, i) => ({
    lineId: `in_1_${i + 1}`,
    category,
    ratePpm,
    net,
    tax,
    credited: nothing,
    refunded: nothing,
  })),
  paid: amounts.totalAmount,
  creditSpent: 0n,
  refundedToPayments: 0n,
  promo: { spent: promoCredits, credited: 0n, refunded: 0n },
  ...over,
});
