import type { Composition } from '../../pricing/price.js';
import { netOf } from './facts.js';
import type { Invoice, InvoiceLine } from './invoice.js';

/** A stored document as it was composed. */
export function compositionOf(invoice: Invoice): Composition {
  const { promoAmount, discountAmount, taxAmount, totalAmountExcludingTax, totalAmount, originAmount } = invoice;
  return {
    lines: invoice.lines.map(line => ({
      amountExcludingTax: line.amountExcludingTax,
      promoAmount: line.promoAmount,
      discountAmount: line.discountAmount,
      tax: line.tax,
      amount: line.amount,
      originAmount: line.originAmount,
      net: netOf(line),
      rate: rateOf(invoice, line),
    })),
    taxes: invoice.taxes.map(group => ({ ...group, net: BigInt(group.net), tax: BigInt(group.tax), components: [] })),
    amounts: { promoAmount, discountAmount, taxAmount, totalAmountExcludingTax, totalAmount, originAmount },
    promoCredits: invoice.promoCredits,
    taxPercentage: invoice.taxBps,
  };
}

export function rateOf({ taxes }: Pick<Invoice, 'taxes'>, { category, ratePpm, taxReason: reason }: InvoiceLine) {
  const group = taxes.find(entry => entry.category === category && entry.ratePpm === ratePpm);
  return { category, ratePpm, jurisdiction: group?.jurisdiction ?? '', source: group?.source ?? '', reason };
}
