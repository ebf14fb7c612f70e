import { describe, expect, it } from '@jest/globals';
import { creditNoteOf } from '../../src/pricing/credit-note.js';
import { explain, explainNote, percentText } from '../../src/pricing/explain.js';
import { priceLines } from '../../src/pricing/price.js';
import { refundFrom } from '../../src/pricing/refund.js';
import { ledgerOf, line, rate } from './samples.js';

const fact = (lineId: string, name: string, unitAmountExcludingTax: bigint, quantity = 1) => ({
  lineId,
  name,
  unitAmountExcludingTax,
  quantity,
  sourceLineId: '',
});

describe('an explanation', () => {
  it('answers formula, inputs, source line and tax reason of each line', () => {
    const items = [line(1999n, rate(8.25), { quantity: 3 }), line(-500n, rate(8.25))];
    const { lines } = explain(priceLines(items, { discount: { kind: 'percentage', percentage: 1000 } }), [
      fact('in_2_1', 'Seats', 1999n, 3),
      {
        ...fact('in_2_2', 'Unused time of Seats', -500n),
        sourceLineId: 'in_1_1',
        derivation: { formula: 'round(net × unused ÷ period)', inputs: { net: -1000, unused: 15, period: 30 } },
      },
    ]);
    expect(lines).toEqual([
      {
        lineId: 'in_2_1',
        text: 'Seats: 5997 − 600 discount + 445 tax = 5842',
        formula: 'unitAmount × quantity − discount + tax',
        inputs: {
          unitAmount: 1999,
          quantity: 3,
          amountExcludingTax: 5997,
          discount: 600,
          tax: 445,
          taxRatePpm: 82_500,
        },
        sourceLineId: '',
        taxReason: 'Standard rate of EE',
        amount: 5842n,
      },
      {
        lineId: 'in_2_2',
        text: 'Unused time of Seats: -500 + -41 tax = -541',
        formula: 'round(net × unused ÷ period) + tax',
        inputs: { net: -1000, unused: 15, period: 30, amountExcludingTax: -500, tax: -41, taxRatePpm: 82_500 },
        sourceLineId: 'in_1_1',
        taxReason: 'Standard rate of EE',
        amount: -541n,
      },
    ]);
  });

  it('lists totals that add up to the last', () => {
    const calculated = priceLines([line(333n, rate(19)), line(333n, rate(7))], {
      promo: { balance: 1n, exchangeRate: 100n, decimals: 2 },
    });
    const facts = [fact('1', 'A', 333n), fact('2', 'B', 333n)];
    expect(explain(calculated, facts).totals).toEqual([
      { text: 'Subtotal', amount: 666n },
      { text: 'Promo credit', amount: -100n },
      { text: 'Tax 19 % on 283: Standard rate of EE', amount: 54n },
      { text: 'Tax 7 % on 283: Standard rate of EE', amount: 20n },
      { text: 'Total', amount: 640n },
    ]);
  });

  it('explains a credit note by the lines that it gives back', () => {
    const [, made] = refundFrom(ledgerOf(priceLines([line(333n, rate(19)), line(333n, rate(7))])), 400n);
    const note = creditNoteOf('in_1', made.lines);
    const { lines, totals } = explainNote(note, 'in_2', lineId => ({ name: lineId, taxReason: 'Standard rate' }));
    expect(lines[0]).toEqual({
      lineId: 'in_2_1',
      text: 'Share of in_1_1: -177 + -34 tax = -211',
      formula: 'amountExcludingTax + tax',
      inputs: { amountExcludingTax: -177, tax: -34, taxRatePpm: 190_000 },
      sourceLineId: 'in_1_1',
      taxReason: 'Standard rate',
      amount: -211n,
    });
    expect(lines.reduce((total, { amount }) => total + amount, 0n)).toBe(-400n);
    expect(totals.map(({ text }) => text)).toEqual(['Subtotal', 'Tax 19 % on -177', 'Tax 7 % on -177', 'Total']);
    expect(totals.at(-1)?.amount).toBe(-400n);
  });

  it('writes rates exactly', () => {
    expect([0, 1, 88_750, 190_000, 1_000_000].map(percentText)).toEqual(['0', '0.0001', '8.875', '19', '100']);
  });
});
