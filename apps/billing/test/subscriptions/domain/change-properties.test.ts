import { expect, it } from '@jest/globals';
import { ratio, sum } from '@recur/kernel';
import fc from 'fast-check';
import type { CreditableLine, InvoiceItem } from '../../../src/invoices/domain/items.js';
import type { DiscountTerms } from '../../../src/pricing/discount.js';
import { changeItems, type PaidPeriod } from '../../../src/subscriptions/domain/change-items.js';
import { type ChangeContext, decideChange, totalPrice } from '../../../src/subscriptions/domain/changes.js';
import { finalItems, type ShownItem } from '../../../src/subscriptions/domain/items-to-bill.js';
import { addon, calculated, paidLines, plan, terms } from './change-samples.js';

/*
 * The oracle V4 on random histories: what is credited and charged in a period is the price over time, within one minor unit
 * per line of a change. Checks throw plain errors, which is faster than an assertion of jest.
 */

function check(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence);
}

// small amounts, so that changes at an equal price occur
const amount = fc.oneof(fc.integer({ min: 1, max: 500_000 }), fc.integer({ min: 1, max: 4 })).map(BigInt);
const quantity = fc.integer({ min: 1, max: 9 });
const items = fc
  .tuple(
    fc.tuple(amount, quantity, fc.integer({ min: 1, max: 3 })),
    fc.array(fc.tuple(amount, quantity), { maxLength: 2 }),
  )
  .map(([[unit, count, planId], addons]): ShownItem[] => [
    plan(unit, count, planId),
    ...addons.map(([price, many], i) => addon(10 + i, price, many)),
  ]);
const period = fc
  .tuple(fc.integer({ min: 0, max: 2_000_000_000 }), fc.integer({ min: 3_600, max: 31_622_400 }), fc.boolean())
  .map(([start, length, stub]): PaidPeriod => {
    const full = { start, end: start + length };
    return { start, end: stub ? start + Math.ceil(length / 3) : full.end, full };
  });
const steps = fc.array(fc.tuple(items, fc.integer({ min: 1, max: 999 })), { minLength: 1, maxLength: 6 });
const discounts = fc.option(fc.integer({ min: 1, max: 10_000 }), { nil: undefined });

const context: ChangeContext = {
  requested: 'byRules',
  paidActive: true,
  downgradeEffectImmediately: true,
  upgradeProration: true,
};

interface History {
  lines: CreditableLine[];
  credited: Map<string, bigint>;
  net: bigint;
  /** Lines of changes so far: each is rounded once. */
  rounded: number;
}

/** Books a document: what it charges is in force, what it credits is not any more. */
function booked(
  { lines, credited, net, rounded }: History,
  bill: { items: InvoiceItem[]; ended: CreditableLine[] },
  invoiceId: string,
  reduction?: DiscountTerms,
): History {
  const discount = reduction ? { discount: reduction } : {};
  const document = calculated(bill.items, discount);
  const given = new Map(credited);
  for (const item of bill.items) {
    if (!item.source) continue;
    given.set(item.source.lineId, (given.get(item.source.lineId) ?? 0n) - item.unitAmount);
  }
  const ended = new Set(bill.ended.map(line => line.lineId));
  const kept = lines.filter(line => !ended.has(line.lineId));
  return {
    lines: [...kept, ...paidLines(bill.items, discount, invoiceId)],
    credited: given,
    net: net + document.amounts.totalAmountExcludingTax,
    rounded: rounded + bill.items.length,
  };
}

function startOf(from: ShownItem[], paid: PaidPeriod, discount: DiscountTerms | undefined): History {
  const bill = changeItems({ from: terms([]), to: terms(from), at: paid.start, periods: [paid], sold: [] });
  return booked({ lines: [], credited: new Map(), net: 0n, rounded: 0 }, bill, 'in_0', discount);
}

it('credits and charges add up to the price over time, and no line is credited beyond its net (5000)', () => {
  let changes = 0;
  fc.assert(
    fc.property(items, period, steps, discounts, (first, paid, moves, percentage) => {
      const discount: DiscountTerms | undefined = percentage ? { kind: 'percentage', percentage } : undefined;
      let history = startOf(first, paid, discount);
      let [from, since, exact] = [first, paid.start, 0n];
      const fullSeconds = BigInt(paid.full.end - paid.full.start);
      const ordered = moves.toSorted((a, b) => a[1] - b[1]);
      for (const [i, [to, thousandths]] of ordered.entries()) {
        const at = paid.start + Math.floor(((paid.end - paid.start) * thousandths) / 1000);
        const { billed } = decideChange(terms(from), terms(to), context);
        exact += totalPrice(terms(from)) * BigInt(at - since);
        if (billed) {
          const change = { from: terms(from), to: terms(to), at, periods: [paid], sold: history.lines };
          history = booked(history, changeItems(change), `in_${i + 1}`, discount);
          changes++;
        }
        [from, since] = [to, at];
      }
      exact += totalPrice(terms(from)) * BigInt(paid.end - since);
      const price = ratio(exact, BigInt(10_000 - (percentage ?? 0)), 10_000n * fullSeconds, 'half-away-from-zero');
      const difference = history.net - price;
      // credit and charge are rounded once each; a discount rounds its shares too
      const tolerance = BigInt(Math.ceil(history.rounded / (percentage ? 1 : 2)) + 1);
      check(difference <= tolerance && -difference <= tolerance, `${history.net} for ${price} over time`);
      for (const line of history.lines) check(line.net >= 0n, 'a line in force');
    }),
    { numRuns: 5000 },
  );
  expect(changes).toBeGreaterThan(5000);
});

it('never credits a line twice or beyond its net, and an end credits the rest (5000)', () => {
  fc.assert(
    fc.property(items, period, steps, fc.integer({ min: 1, max: 999 }), (first, paid, moves, last) => {
      let history = startOf(first, paid, undefined);
      const nets = new Map(history.lines.map(line => [line.lineId, line.net]));
      let from = first;
      for (const [i, [to, thousandths]] of moves.toSorted((a, b) => a[1] - b[1]).entries()) {
        if (thousandths > last) break;
        const at = paid.start + Math.floor(((paid.end - paid.start) * thousandths) / 1000);
        const change = { from: terms(from), to: terms(to), at, periods: [paid], sold: history.lines };
        history = booked(history, changeItems(change), `in_${i + 1}`);
        for (const line of history.lines) nets.set(line.lineId, line.net);
        from = to;
      }
      const at = paid.start + Math.floor(((paid.end - paid.start) * last) / 1000);
      const ending = { at, periodEnd: paid.end, prorate: true, invoiceNow: false, usage: [] };
      const { items: credits, ended } = finalItems({ ...ending, sold: history.lines });
      history = booked(history, { items: credits, ended }, 'in_last');
      for (const [lineId, given] of history.credited) {
        check(given >= 0n && given <= (nets.get(lineId) ?? 0n), `${given} credited of ${nets.get(lineId)}`);
      }
      check(history.lines.length === 0, 'nothing is in force after the end');
      check(sum(credits.map(({ unitAmount }) => unitAmount)) <= 0n, 'an end credits');
    }),
    { numRuns: 5000 },
  );
});
