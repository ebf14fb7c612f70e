import { sum } from '@recur/kernel';
import type { ComposedLine, Composition, InvoiceAmounts } from './price.js';
import type { LineShare } from './refund.js';
import type { TaxCategory } from './tax.js';

/** Line of a credit note for a refund or a shortfall: negative shares of an invoice's line. */
export interface CreditNoteLine {
  sourceLineId: string;
  category: TaxCategory;
  ratePpm: number;
  /** Minor units, negative. */
  amountExcludingTax: bigint;
  tax: bigint;
  amount: bigint;
}

export interface CreditNote {
  /** The invoice that the note refers to (`originalPaymentInvoice`). */
  originalInvoiceId: string;
  lines: CreditNoteLine[];
  taxes: { category: TaxCategory; ratePpm: number; net: bigint; tax: bigint }[];
  totalAmountExcludingTax: bigint;
  taxAmount: bigint;
  totalAmount: bigint;
}

/** The credit note of a refund, or of a shortfall that was accepted. Lines without a share are left out. */
export function creditNoteOf(originalInvoiceId: string, shares: readonly LineShare[]): CreditNote {
  const lines = shares
    .filter(({ net, tax }) => net !== 0n || tax !== 0n)
    .map(({ lineId, category, ratePpm, net, tax }) => ({
      sourceLineId: lineId,
      category,
      ratePpm,
      amountExcludingTax: -net,
      tax: -tax,
      amount: -net - tax,
    }));
  const groups = new Map<string, CreditNote['taxes'][number]>();
  for (const { category, ratePpm, amountExcludingTax, tax } of lines) {
    const key = `${category} ${ratePpm}`;
    const group = groups.get(key) ?? { category, ratePpm, net: 0n, tax: 0n };
    groups.set(key, { ...group, net: group.net + amountExcludingTax, tax: group.tax + tax });
  }
  return {
    originalInvoiceId,
    lines,
    taxes: [...groups.values()],
    totalAmountExcludingTax: sum(lines.map(line => line.amountExcludingTax)),
    taxAmount: sum(lines.map(line => line.tax)),
    totalAmount: sum(lines.map(line => line.amount)),
  };
}

/** A composition with a negative total is a credit note; its total goes to the main account. */
export const isCreditNote = ({ totalAmount }: Pick<InvoiceAmounts, 'totalAmount'>): boolean => totalAmount < 0n;

/** The invoice that such a credit note refers to: that of the largest credit, the earlier line of equal ones. */
export function originalInvoice(credits: readonly { invoiceId: string; amount: bigint }[]): string {
  const [first, ...others] = credits;
  if (!first) return '';
  return others.reduce((largest, credit) => (credit.amount < largest.amount ? credit : largest), first).invoiceId;
}

/** True if cancelling a document takes a credit note: it is numbered and not of total 0. */
export const needsVoidNote = ({ number, totalAmount }: { number: string; totalAmount: bigint }): boolean =>
  number !== '' && totalAmount !== 0n;

/** The credit note of a cancelled invoice: every amount of it, negated. */
export function voidNoteOf({ lines, taxes, amounts, taxPercentage }: Composition): Composition {
  return {
    lines: lines.map(negatedLine),
    taxes: taxes.map(group => ({
      ...group,
      net: -group.net,
      tax: -group.tax,
      components: group.components.map(component => ({ ...component, tax: -component.tax })),
    })),
    amounts: {
      promoAmount: -amounts.promoAmount,
      discountAmount: -amounts.discountAmount,
      taxAmount: -amounts.taxAmount,
      totalAmountExcludingTax: -amounts.totalAmountExcludingTax,
      totalAmount: -amounts.totalAmount,
      originAmount: -amounts.originAmount,
    },
    promoCredits: 0n,
    taxPercentage,
  };
}

const negatedLine = (line: ComposedLine): ComposedLine => ({
  ...line,
  amountExcludingTax: -line.amountExcludingTax,
  promoAmount: -line.promoAmount,
  discountAmount: -line.discountAmount,
  tax: -line.tax,
  amount: -line.amount,
  originAmount: -line.originAmount,
  net: -line.net,
});
