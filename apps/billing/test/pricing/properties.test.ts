import { describe, expect, it } from '@jest/globals';
import { min, ratio, sum } from '@recur/kernel';
import fc from 'fast-check';
import { type CreditAccount, type CreditEntry, distributeCredit, postEntry } from '../../src/pricing/credit.js';
import { creditNoteOf, voidNoteOf } from '../../src/pricing/credit-note.js';
import { explain } from '../../src/pricing/explain.js';
import { type Composition, priceLines } from '../../src/pricing/price.js';
import {
  acceptUnderpayment,
  creditedNet,
  creditLine,
  type RefundLedger,
  type RefundSplit,
  refundable,
  refundFrom,
  undoRefund,
} from '../../src/pricing/refund.js';
import { reconcileAmount, settle } from '../../src/pricing/settle.js';
import { PPM } from '../../src/pricing/tax.js';
import { cuts, given } from './random-invoices.js';
import { ledgerOf } from './samples.js';

/*
 * Properties over 100 000 random invoices. Checks throw plain errors: an assertion of jest takes longer than pricing an
 * invoice.
 */

const runs = {
  calculated: 20_000,
  refunded: 25_000,
  interrupted: 15_000,
  credited: 20_000,
  explained: 20_000,
} as const;

function check(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence);
}

const columnOf = (lines: readonly object[], name: string) =>
  sum(lines.map(line => (line as Record<string, bigint>)[name] ?? 0n));

function assertAddsUp({ lines, taxes, amounts }: Composition): void {
  for (const { amountExcludingTax, discountAmount, promoAmount, net, tax, amount, originAmount } of lines) {
    check(net === amountExcludingTax - discountAmount - promoAmount, 'net of a line');
    check(amount === net + tax && originAmount === amount + discountAmount + promoAmount, 'amounts of a line');
    check(amountExcludingTax > 0n ? net >= 0n : discountAmount === 0n && promoAmount === 0n, 'reduction of a line');
  }
  for (const group of taxes) {
    const members = lines.filter(line => line.rate.category === group.category && line.rate.ratePpm === group.ratePpm);
    check(columnOf(members, 'net') === group.net, 'net of a rate group');
    check(columnOf(members, 'tax') === group.tax, 'tax of a rate group');
    check(
      group.tax === ratio(group.net, BigInt(group.ratePpm), PPM, 'half-away-from-zero'),
      'rounding of a rate group',
    );
    check(group.components.length === 0 || columnOf(group.components, 'tax') === group.tax, 'components of a rate');
  }
  check(columnOf(lines, 'amount') === amounts.totalAmount, 'total');
  check(columnOf(taxes, 'tax') === amounts.taxAmount && columnOf(lines, 'tax') === amounts.taxAmount, 'tax');
  check(columnOf(taxes, 'net') === amounts.totalAmountExcludingTax, 'net');
  check(columnOf(lines, 'originAmount') === amounts.originAmount, 'originAmount');
  check(amounts.totalAmount === amounts.totalAmountExcludingTax + amounts.taxAmount, 'total of net and tax');
}

describe('any invoice', () => {
  it(`adds up per rate group and line by line, and reductions are conserved (${runs.calculated})`, () => {
    const seen = { creditNotes: 0, groups: 0, discounts: 0, promos: 0 };
    fc.assert(
      fc.property(given, ({ items, reductions }) => {
        const calculated = priceLines(items, reductions);
        assertAddsUp(calculated);
        const { lines, amounts, taxes, promoCredits } = calculated;
        check(columnOf(lines, 'discountAmount') === amounts.discountAmount, 'shares of the discount');
        check(columnOf(lines, 'promoAmount') === amounts.promoAmount, 'shares of the promo credit');
        check(
          lines.every((line, i) => items[i]?.discountable || line.discountAmount === 0n),
          'an uncovered line',
        );
        if (amounts.promoAmount > 0n) {
          check(amounts.totalAmountExcludingTax >= 0n, 'promo credit makes no net negative');
          check(promoCredits > 0n && promoCredits <= (reductions.promo?.balance ?? 0n), 'credits within the balance');
        } else check(promoCredits === 0n, 'no credits for nothing');
        seen.creditNotes += amounts.totalAmount < 0n ? 1 : 0;
        seen.groups += taxes.length > 2 ? 1 : 0;
        seen.discounts += amounts.discountAmount > 0n ? 1 : 0;
        seen.promos += amounts.promoAmount > 0n ? 1 : 0;
        const undone = voidNoteOf(calculated);
        check(undone.amounts.totalAmount + amounts.totalAmount === 0n, 'a void note undoes the total');
        check(columnOf(undone.lines, 'amount') === -amounts.totalAmount, 'lines of a void note');
      }),
      { numRuns: runs.calculated },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs.calculated / 20);
  });

  it(`returns its tax exactly, in whatever way a refund is split (${runs.refunded})`, () => {
    let split = 0;
    fc.assert(
      fc.property(given, cuts, fc.integer({ min: 0, max: 1000 }), ({ items, reductions }, parts, creditPart) => {
        const calculated = priceLines(items, reductions);
        const { totalAmount, taxAmount } = calculated.amounts;
        if (totalAmount <= 0n) return;
        const creditSpent = (totalAmount * BigInt(creditPart)) / 1000n;
        let ledger = ledgerOf(calculated, { paid: totalAmount - creditSpent, creditSpent });
        const made: RefundSplit[] = [];
        for (const part of [...parts, 1000]) {
          const left = refundable(ledger);
          const amount = part === 1000 ? left : (left * BigInt(part)) / 1000n;
          if (amount === 0n) continue;
          const [next, refunded] = refundFrom(ledger, amount);
          assertShares(ledger, refunded, amount);
          ledger = next;
          made.push(refunded);
          const so = sum(made.map(each => each.amount));
          const tax = sum(made.map(each => each.tax));
          check(tax === ratio(taxAmount, so, totalAmount, 'half-away-from-zero'), 'cumulative tax');
          const credits = ratio(calculated.promoCredits, so, totalAmount, 'floor');
          check(sum(made.map(each => each.promoCredits)) === credits, 'cumulative promo credits');
        }
        if (made.length > 2) split++;
        assertAllBack(ledger);
        check(sum(made.map(each => each.tax)) === taxAmount, 'all tax is back');
        check(sum(made.map(each => each.toMainCredit)) === creditSpent, 'main credit is back');
        check(sum(made.map(each => each.promoCredits)) === calculated.promoCredits, 'all promo credits are back');
      }),
      { numRuns: runs.refunded },
    );
    expect(split).toBeGreaterThan(runs.refunded / 10);
  });

  it(`conserves money when refunds fail, lines are credited and transfers are short (${runs.interrupted})`, () => {
    const step = fc.tuple(fc.constantFrom('refund', 'undo', 'credit'), fc.integer({ min: 1, max: 999 }), fc.nat(5));
    const steps = fc.array(step, { minLength: 2, maxLength: 8 });
    const seen = { refund: 0, undo: 0, credit: 0, short: 0 };
    fc.assert(
      fc.property(given, steps, fc.nat(1), ({ items, reductions }, moves, short) => {
        const calculated = priceLines(items, reductions);
        const { totalAmount } = calculated.amounts;
        if (totalAmount <= 1n) return;
        let ledger = ledgerOf(calculated);
        if (short === 1) {
          const [left, shares] = acceptUnderpayment({ ...ledger, paid: totalAmount - 1n }, 1n);
          check(creditNoteOf('in_1', shares).totalAmount === -1n, 'a note for bank charges');
          ledger = left;
          seen.short++;
        }
        const made: RefundSplit[] = [];
        for (const [move, part, at] of moves) {
          const before = refundable(ledger);
          ledger = interrupted(ledger, made, move, part, at);
          if (refundable(ledger) !== before) seen[move as 'refund']++;
          assertBounds(ledger);
        }
        const rest = refundable(ledger);
        // lines of opposite signs may be left over that add up to nothing
        if (rest === 0n) return;
        [ledger] = refundFrom(ledger, rest);
        assertAllBack(ledger);
      }),
      { numRuns: runs.interrupted },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs.interrupted / 20);
  });

  it(`is settled with credit that is neither made nor lost (${runs.credited})`, () => {
    const amount = fc.nat(100_000).map(BigInt);
    fc.assert(
      fc.property(given, amount, fc.nat(2000).map(BigInt), cuts, ({ items, reductions }, balance, minimum, parts) => {
        const { totalAmount } = priceLines(items, reductions).amounts;
        const { creditSpent, creditGiven, due, amountDue } = settle(totalAmount, balance, minimum);
        check(creditSpent + due - creditGiven === totalAmount && amountDue === totalAmount - creditSpent, 'settled');
        check(creditSpent >= 0n && creditSpent <= balance && due >= 0n, 'credit within the balance');
        check(due === 0n || due >= minimum || totalAmount < minimum, 'no payment below the minimum');
        const entries: CreditEntry[] = [];
        let account: CreditAccount = { type: 'main', currency: 'EUR', balance };
        const booked = (move: CreditEntry['move'], delta: bigint) => {
          if (delta === 0n) return;
          const [next, entry] = postEntry(account, move, delta);
          check(entry.before === account.balance && entry.after === next.balance, 'chained entries');
          account = next;
          entries.push(entry);
        };
        booked('payout', -creditSpent);
        booked('adminChange', creditGiven);
        booked('refund', creditSpent);
        check(account.balance === balance + columnOf(entries, 'delta'), 'totals of an account');
        check(account.balance === balance + creditGiven, 'a cancelled invoice returns its credit');
        const invoices = parts.map((part, i) => ({ invoiceId: `in_${i}`, refundable: BigInt(part * 20) }));
        const { refunds, toMainCredit } = distributeCredit(creditGiven, invoices);
        check(sum(refunds.map(each => each.amount)) + toMainCredit === creditGiven, 'credit that is sent back');
        const { overpayment, underpayment } = reconcileAmount(due, due + minimum + 1n, false);
        check(overpayment === minimum + 1n && underpayment === 0n, 'an overpayment');
      }),
      { numRuns: runs.credited },
    );
  });

  it(`is explained by numbers that add up to it (${runs.explained})`, () => {
    fc.assert(
      fc.property(given, ({ items, reductions }) => {
        const calculated = priceLines(items, reductions);
        const { totalAmount } = calculated.amounts;
        const facts = items.map(({ unitAmountExcludingTax, quantity }, i) => ({
          lineId: `in_1_${i + 1}`,
          name: 'Line',
          unitAmountExcludingTax,
          quantity,
          sourceLineId: '',
        }));
        const { lines, totals } = explain(calculated, facts);
        check(sum(lines.map(each => each.amount)) === totalAmount, 'lines add up to the total');
        check(sum(totals.slice(0, -1).map(each => each.amount)) === totalAmount, 'totals add up to the last');
        check(totals.at(-1)?.amount === totalAmount, 'the last total');
        for (const { formula, inputs, amount } of lines) {
          check(evaluated(formula, inputs) === amount, `${formula} with ${JSON.stringify(inputs)}`);
        }
      }),
      { numRuns: runs.explained },
    );
  });
});

/** One step of the third property; refunds are pushed to `made`, and taken from it when they are undone. */
function interrupted(ledger: RefundLedger, made: RefundSplit[], move: string, part: number, at: number): RefundLedger {
  const amount = (refundable(ledger) * BigInt(part)) / 1000n;
  if (move === 'refund' && amount > 0n) {
    const [next, refunded] = refundFrom(ledger, amount);
    made.push(refunded);
    return next;
  }
  if (move === 'undo' && made.length > 0) {
    const [undone] = made.splice(at % made.length, 1);
    return undone ? undoRefund(ledger, undone) : ledger;
  }
  const line = ledger.lines[at % ledger.lines.length];
  if (move !== 'credit' || !line || line.net <= 0n) return ledger;
  // a later document credits part of what is left of the line, at its own rate
  const net = ((line.net - creditedNet(line)) * BigInt(part)) / 1000n;
  const left = line.tax - line.credited.tax - line.refunded.tax;
  const exact = ratio(net, BigInt(line.ratePpm), PPM, 'half-away-from-zero');
  return creditLine(ledger, line.lineId, { net, tax: min(exact, left) });
}

function assertShares(
  ledger: RefundLedger,
  { lines, net, tax, toPayments, toMainCredit }: RefundSplit,
  amount: bigint,
): void {
  check(net + tax === amount && toPayments + toMainCredit === amount, 'parts of a refund');
  check(columnOf(lines, 'net') === net && columnOf(lines, 'tax') === tax, 'shares of a refund');
  check(toMainCredit === 0n || ledger.refundedToPayments + toPayments === ledger.paid, 'payments first');
}

/** Nothing is given back beyond a line, or against its sign. */
function assertBounds({ lines }: RefundLedger): void {
  for (const { net, tax, credited, refunded } of lines) {
    for (const [whole, back] of [
      [net, credited.net + refunded.net],
      [tax, credited.tax + refunded.tax],
    ] as const) {
      check(whole >= 0n ? back >= 0n && back <= whole : back <= 0n && back >= whole, 'bounds of a line');
    }
  }
}

function assertAllBack(ledger: RefundLedger): void {
  check(refundable(ledger) === 0n, 'nothing is left to refund');
  assertBounds(ledger);
  const left = ledger.lines.flatMap(({ net, tax, credited, refunded }) => [
    net - credited.net - refunded.net,
    tax - credited.tax - refunded.tax,
  ]);
  check(
    left.every(rest => rest === 0n),
    'every line is given back exactly',
  );
}

/** The value of `a × b − c + d` with named inputs. */
function evaluated(formula: string, inputs: Readonly<Record<string, number | string>>): bigint {
  const [product = '', ...terms] = formula.split(/ (?=[−+] )/);
  const value = (name: string) => BigInt(inputs[name] ?? Number.NaN);
  const start = product.split(' × ').reduce((result, name) => result * value(name), 1n);
  return terms.reduce(
    (result, term) => result + (term.startsWith('−') ? -value(term.slice(2)) : value(term.slice(2))),
    start,
  );
}
