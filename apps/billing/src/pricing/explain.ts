import type { CreditNote } from './credit-note.js';
import type { Composition } from './price.js';
import type { TaxGroup } from './tax.js';

/** The way in which a line's net before reductions was computed. Inputs are JSON values: amounts in minor units. */
export interface Derivation {
  /** For example `unitAmount × quantity`. */
  formula: string;
  inputs: Readonly<Record<string, number | string>>;
}

/** The words of a line, beside its amounts. */
export interface ExplainedLine {
  lineId: string;
  /** Name of the line. */
  name: string;
  unitAmountExcludingTax: bigint;
  quantity: number;
  /** Line of an earlier document that is credited; '' for none. */
  sourceLineId: string;
  /** Absent for `unitAmount × quantity`. */
  derivation?: Derivation;
}

/** Explanation of a line, as it is stored and answered. `amount` includes tax. */
export interface LineExplanation {
  lineId: string;
  text: string;
  formula: string;
  inputs: Readonly<Record<string, number | string>>;
  sourceLineId: string;
  taxReason: string;
  amount: bigint;
}

/** Entry of the totals; all but the last add up to the last, which is the document's total. */
export interface TotalExplanation {
  text: string;
  amount: bigint;
}

export interface Explanation {
  lines: LineExplanation[];
  totals: TotalExplanation[];
}

/** Explains a priced document in words and numbers. Both the lines and the totals add up to its total. */
export function explain({ lines, taxes, amounts }: Composition, explained: readonly ExplainedLine[]): Explanation {
  return {
    lines: lines.map((line, i) => {
      const own = explained[i];
      if (!own) throw new RangeError(`no explanation of line ${i}`);
      const { formula, inputs } =
        own.derivation ?? quantityDerivation({ ...own, unitAmount: own.unitAmountExcludingTax });
      const parts = [
        { sign: '−', name: 'discount', amount: line.discountAmount },
        { sign: '−', name: 'promoCredit', amount: line.promoAmount },
        { sign: '+', name: 'tax', amount: line.tax },
      ].filter(({ name, amount }) => amount !== 0n || name === 'tax');
      return {
        lineId: own.lineId,
        text: `${own.name}: ${line.amountExcludingTax}${parts.map(part => ` ${part.sign} ${part.amount} ${formulaWords[part.name]}`).join('')} = ${line.amount}${priceBefore(inputs)}`,
        formula: `${formula}${parts.map(part => ` ${part.sign} ${part.name}`).join('')}`,
        inputs: {
          ...inputs,
          amountExcludingTax: Number(line.amountExcludingTax),
          ...Object.fromEntries(parts.map(part => [part.name, Number(part.amount)])),
          taxRatePpm: line.rate.ratePpm,
        },
        sourceLineId: own.sourceLineId,
        taxReason: line.rate.reason,
        amount: line.amount,
      };
    }),
    totals: explainTotals(taxes, amounts, lines),
  };
}

/** A line of the refunded invoice. */
export interface NotedLine {
  name: string;
  taxReason: string;
}

/**
 * Explains the credit note of a refund or of bank charges. Its lines are numbered `<noteId>_<position>`, like those of an
 * invoice; `notedLine` tells what the invoice's line says.
 */
export function explainNote(note: CreditNote, noteId: string, notedLine: (lineId: string) => NotedLine): Explanation {
  return {
    lines: note.lines.map(({ sourceLineId, ratePpm, amountExcludingTax, tax, amount }, i) => {
      const { name, taxReason } = notedLine(sourceLineId);
      return {
        lineId: `${noteId}_${i + 1}`,
        text: `Share of ${name}: ${amountExcludingTax} + ${tax} tax = ${amount}`,
        formula: 'amountExcludingTax + tax',
        inputs: { amountExcludingTax: Number(amountExcludingTax), tax: Number(tax), taxRatePpm: ratePpm },
        sourceLineId,
        taxReason,
        amount,
      };
    }),
    totals: [
      { text: 'Subtotal', amount: note.totalAmountExcludingTax },
      ...note.taxes.map(({ ratePpm, net, tax }) => ({ text: taxText({ ratePpm, net, reason: '' }), amount: tax })),
      { text: 'Total', amount: note.totalAmount },
    ],
  };
}

const formulaWords: Readonly<Record<string, string>> = {
  discount: 'discount',
  promoCredit: 'promo credit',
  tax: 'tax',
};

/** The derivation of a line that says no other. */
export const quantityDerivation = ({ unitAmount, quantity }: { unitAmount: bigint; quantity: number }): Derivation => ({
  formula: 'unitAmount × quantity',
  inputs: { unitAmount: Number(unitAmount), quantity },
});

/** Names the unit price of the period before, where that changed. */
const priceBefore = ({ previousUnitAmount, unitAmount }: Derivation['inputs']): string =>
  previousUnitAmount === undefined ? '' : `; the unit price was ${previousUnitAmount} until then, and is ${unitAmount}`;

function explainTotals(
  taxes: readonly TaxGroup[],
  { discountAmount, promoAmount, totalAmount }: Composition['amounts'],
  lines: Composition['lines'],
): TotalExplanation[] {
  const subtotal = lines.reduce((total, line) => total + line.amountExcludingTax, 0n);
  return [
    { text: 'Subtotal', amount: subtotal },
    ...(discountAmount === 0n ? [] : [{ text: 'Discount', amount: -discountAmount }]),
    ...(promoAmount === 0n ? [] : [{ text: 'Promo credit', amount: -promoAmount }]),
    ...taxes.map(group => ({ text: taxText(group), amount: group.tax })),
    { text: 'Total', amount: totalAmount },
  ];
}

/** `Tax 8.875 % on 100000: Standard rate of DE`. */
const taxText = ({ ratePpm, net, reason }: Pick<TaxGroup, 'ratePpm' | 'net' | 'reason'>): string =>
  `Tax ${percentText(ratePpm)} % on ${net}${reason && `: ${reason}`}`;

/** Parts per million as a percentage in decimal digits, exactly. */
export function percentText(ratePpm: number): string {
  const digits = String(ratePpm).padStart(5, '0');
  const fraction = digits.slice(-4).replace(/0+$/, '');
  return digits.slice(0, -4) + (fraction && `.${fraction}`);
}
