import { describe, expect, it } from '@jest/globals';
import { creditNoteOf, needsVoidNote, originalInvoice, voidNoteOf } from '../../src/pricing/credit-note.js';
import { priceLines } from '../../src/pricing/price.js';
import { refundFrom } from '../../src/pricing/refund.js';
import { ledgerOf, line, rate } from './samples.js';

const invoice = priceLines([line(333n, rate(19)), line(333n, rate(19)), line(333n, rate(7))], {
  discount: { kind: 'fixed', amount: 100n },
});

describe('credit notes', () => {
  it('of a refund have its shares, negative, each with its source line', () => {
    const [, made] = refundFrom(ledgerOf(invoice), 500n);
    const note = creditNoteOf('in_1', made.lines);
    expect(note).toMatchObject({ originalInvoiceId: 'in_1', totalAmount: -500n, taxAmount: -made.tax });
    expect(note.lines.map(({ sourceLineId }) => sourceLineId)).toEqual(['in_1_1', 'in_1_2', 'in_1_3']);
    expect(note.taxes.map(({ ratePpm }) => ratePpm)).toEqual([190_000, 70_000]);
    expect(note.taxes.reduce((total, { net, tax }) => total + net + tax, 0n)).toBe(-500n);
  });

  it('of a cancelled invoice undo every amount of it', () => {
    const note = voidNoteOf(invoice);
    expect(note.amounts.totalAmount).toBe(-invoice.amounts.totalAmount);
    note.lines.forEach((undone, i) => {
      const { amountExcludingTax, discountAmount, promoAmount, net, tax, amount } = undone;
      expect(net).toBe(amountExcludingTax - discountAmount - promoAmount);
      expect(amount).toBe(net + tax);
      expect(amount).toBe(-(invoice.lines[i]?.amount ?? 0n));
    });
    expect(note.taxes.map(({ net, tax }) => [-net, -tax])).toEqual(invoice.taxes.map(({ net, tax }) => [net, tax]));
  });

  it('are for numbered documents that are not of total 0', () => {
    expect(needsVoidNote({ number: 'INV-000001', totalAmount: 1n })).toBe(true);
    expect(needsVoidNote({ number: '', totalAmount: 1n })).toBe(false);
    expect(needsVoidNote({ number: 'INV-000001', totalAmount: 0n })).toBe(false);
  });

  it('refer to the invoice of the largest credit', () => {
    const credits = [
      { invoiceId: 'in_1', amount: -100n },
      { invoiceId: 'in_2', amount: -300n },
      { invoiceId: 'in_3', amount: -300n },
    ];
    expect(originalInvoice(credits)).toBe('in_2');
    expect(originalInvoice([])).toBe('');
  });
});
