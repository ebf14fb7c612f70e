import { USAGE } from '../../../../../tools/journeys/model/money.js';
import type { Expected } from '../../../../../tools/journeys/model/sales.js';
import type { CalculatedInvoice } from '../../../src/invoices/issuing/calculate.js';
import { gapIn } from '../../../src/subscriptions/domain/periods.js';
import type { Made } from './books.js';
import type { History } from './history.js';
import { lived } from './life.js';
import { METRIC } from './meter.js';
import { expectedOf } from './oracle.js';

/** Counts of a run. */
export const seen = {
  documents: 0,
  previewed: 0,
  credits: 0,
  periods: 0,
  changes: 0,
  unpaid: 0,
  usage: 0,
  discounted: 0,
  promo: 0,
};

const items: Readonly<Record<string, number>> = { plan: 0, 'addon:20': 1, 'addon:21': 2, [`usage:${METRIC}`]: USAGE };

/** A document to the line, as text: everything that a bill states, and every amount. */
const shown = ({
  input: { moment: _, snapshot: _snapshot, mainPlan, ...bill },
  composition,
  rates,
}: CalculatedInvoice): string =>
  JSON.stringify({ bill, mainPlan: mainPlan.id, composition, rates }, (key, value) => {
    if (key === 'plan') return value?.id;
    return typeof value === 'bigint' ? `${value}n` : value;
  });

const state = (isVoid: boolean) => (isVoid ? 'void' : 'paid');

const madeLines = ({ at, lines, state: is, document }: Made): string[] => [
  `${at} ${document.totalAmount} ${state(is === 'void')}`,
  ...lines.map(
    ({ itemKey, startAt, endAt, amountExcludingTax, discountAmount, promoAmount, tax, ratePpm, category }) =>
      `${items[itemKey]} ${startAt} ${endAt} ${amountExcludingTax} − ${discountAmount} − ${promoAmount} + ${tax} ${category} ${ratePpm}`,
  ),
];

const expectedLines = ({ at, lines, total, state: is }: Expected): string[] => [
  `${at} ${total} ${state(is === 'cancelled' || is === 'failed')}`,
  ...lines.map(
    ({ item, start, end, gross, discount, promo, tax, rate: { category, ppm } }) =>
      `${item} ${start} ${end} ${gross} − ${discount} − ${promo} + ${tax} ${category} ${ppm}`,
  ),
];

/** Lives a history and throws where a rule is broken: V4 in words. */
export function check(history: History): void {
  const { books, rows } = lived(history);
  const gap = gapIn(rows);
  if (gap) throw new Error(`periods do not tile: ${gap}`);
  for (const { calculated, preview } of books.made) {
    if (preview === calculated) continue;
    seen.previewed++;
    if (shown(preview) !== shown(calculated)) throw new Error(`previewed ${shown(preview)}, made ${shown(calculated)}`);
  }
  const expected = expectedOf(history);
  const [is, ought] = [books.made.map(madeLines), expected.map(expectedLines)];
  const at = Array.from({ length: Math.max(is.length, ought.length) }).findIndex(
    (_, i) => is[i]?.join('\n') !== ought[i]?.join('\n'),
  );
  if (at >= 0)
    throw new Error(`document ${at + 1} is\n${is[at]?.join('\n')}\nand ought to be\n${ought[at]?.join('\n')}`);
  for (const { document } of books.made) {
    for (const { lineId, creditedNet, amount, tax } of document.lines) {
      if (creditedNet > 0n && creditedNet > amount - tax)
        throw new Error(`${creditedNet} of line ${lineId} was credited`);
    }
  }
  seen.documents += is.length;
  seen.credits += books.made.filter(({ document }) => document.kind === 'credit_note').length;
  seen.changes += books.made.filter(({ document }) => document.billReason === 'upgrade').length;
  seen.unpaid += books.made.filter(made => made.state === 'void').length;
  seen.periods += rows.length;
  seen.discounted += books.made.filter(({ document }) => document.discountAmount > 0n).length;
  seen.promo += books.made.filter(({ document }) => document.promoCredits !== 0n).length;
  seen.usage += is.flat().filter(line => line.startsWith(`${USAGE} `)).length;
}
