import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activateDiscount,
  deleteInvoice,
  editInvoice,
  explainInvoice,
  getDiscount,
  type Invoice,
  incrementPromoCredit,
  listInvoices,
  newCreditConfig,
  newDiscount,
} from '@recur/contracts';
import * as discounts from '../../../src/discounts/verbs.js';
import { invoiceAggregate } from '../../../src/invoicing/aggregates.js';
import { discountOf, type Order, type OrderLine } from '../../../src/invoicing/compose/order.js';
import { changeSettings } from '../../../src/invoicing/finish/settings.js';
import { rate, reverseCharge } from '../../pricing/samples.js';
import { type Shop, shop } from '../../shop.js';
import { counter, creditLine, documentOf, planLine } from './counter.js';

let s: Shop;
let c: ReturnType<typeof counter>;
beforeAll(async () => {
  s = await shop();
  c = counter(s);
});
afterAll(() => s.t.close());

const none = rate(0);
const promo = { applied: true, cap: 0n } as const;
const issued = async (...args: Parameters<typeof c.issue>): Promise<Invoice> => documentOf(await c.issue(...args));

describe('tax of a composed document', () => {
  it('T2: 333 + 333 at 19 % and 333 at 7 %: 127 (64 + 63) and 23, total 1149', async () => {
    const lines = [planLine(333n, rate(19)), planLine(333n, rate(19)), planLine(333n, rate(7))];
    const invoice = await issued(await c.buyer(), lines);
    expect(invoice).toMatchObject({ totalAmount: 1149, taxAmount: 150, taxPercentage: 0 });
    expect(invoice.taxes.map(({ tax }) => tax)).toEqual([127, 23]);
    expect(invoice.lines.map(({ tax }) => tax)).toEqual([64, 63, 23]);
  });

  it('T2: −5000 at 20 % and +8000 reverse charge: −1000 + 0, total 2000', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [planLine(5000n, rate(20))]);
    const lines = [creditLine(`${first.invoiceId}_1`, 5000n, rate(20)), planLine(8000n, reverseCharge)];
    const invoice = await issued(userId, lines);
    expect(invoice).toMatchObject({ totalAmount: 2000, taxAmount: -1000 });
    expect(invoice.taxes).toMatchObject([
      { category: 'S', ratePpm: 200_000, net: -5000, tax: -1000 },
      { category: 'AE', ratePpm: 0, net: 8000, tax: 0 },
    ]);
  });

  it('T3: Estonia 22 → 24 % on 2025-07-01: June usage 10000 → 2200, July fee 5000 → 1200, total 18400', async () => {
    const july = Date.parse('2025-07-01T00:00:00Z') / 1000;
    const usage = planLine(10_000n, undefined, { kind: 'metered', name: 'June', usagePeriodEnd: july });
    const invoice = await issued(await c.buyer({ countryCode: 'EE' }), [usage, planLine(5000n)]);
    expect(invoice.lines.map(({ tax, taxRatePpm }) => [tax, taxRatePpm])).toEqual([
      [2200, 220_000],
      [1200, 240_000],
    ]);
    expect(invoice.totalAmount).toBe(18_400);
    const { lines, totals } = await s.t.done(explainInvoice, { invoiceId: invoice.invoiceId });
    expect(lines.map(({ taxReason }) => taxReason)).toEqual(['Standard rate of EE', 'Standard rate of EE']);
    expect(totals.at(-1)).toEqual({ text: 'Total', amount: 18_400 });
  });
});

describe('M1 and M3: reductions', () => {
  it('M1: the discount first, then promo credit, then tax, then main credit', async () => {
    const userId = await c.buyer();
    await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 20 });
    await c.giveMain(userId, 1000n);
    const discount = { terms: { kind: 'percentage', percentage: 5000 }, shown: null } as const;
    const invoice = await issued(userId, [planLine(10_000n, rate(20))], { discount, promo });
    expect(invoice).toMatchObject({
      ...{ discountAmount: 5000, promoCreditDiscountAmount: 2000, totalAmountExcludingTax: 3000, taxAmount: 600 },
      ...{ totalAmount: 3600, partialCreditPaidAmount: 1000, amountDue: 2600 },
    });
  });

  it('M3: base 5050, rate 100: 50 credits, 5000; the discount comes off first, and negative lines count', async () => {
    const userId = await c.buyer();
    // the gateway has no minimum in this currency
    const chf = { promo, currency: 'CHF' };
    await s.t.done(incrementPromoCredit, { userId, currency: 'CHF', amount: 500 });
    expect(await issued(userId, [planLine(5050n, none)], chf)).toMatchObject({
      ...{ promoCreditDiscountAmount: 5000, totalAmount: 50, promoCreditPayout: { creditAmount: 50 } },
    });
    const first = await issued(userId, [planLine(3000n, none)], { currency: 'CHF' });
    const lines = [creditLine(`${first.invoiceId}_1`, 3000n, none), planLine(8050n, none)];
    expect(await issued(userId, lines, chf)).toMatchObject({ promoCreditDiscountAmount: 5000, totalAmount: 50 });
    expect(await issued(userId, [planLine(5050n, none)], { ...chf, promo: { applied: true, cap: 10n } })).toMatchObject(
      {
        promoCreditDiscountAmount: 1000,
      },
    );
  });

  it('M3: rate 1000: 5 credits, 5000; JPY, rate 30, base 10: 9 for 30 credits, with a balance of 3 nothing', async () => {
    await s.t.done(newCreditConfig, { type: 2, currency: 'USD', exchangeRate: 1000 });
    await s.t.done(newCreditConfig, { type: 2, currency: 'JPY', exchangeRate: 30 });
    const taken = async (currency: string, amount: number, base: bigint) => {
      const userId = await c.buyer();
      await s.t.done(incrementPromoCredit, { userId, currency, amount });
      const { promoCreditDiscountAmount, promoCreditPayout } = await issued(userId, [planLine(base, none)], {
        promo,
        currency,
      });
      return [
        promoCreditDiscountAmount,
        promoCreditPayout?.creditAmount ?? 0,
        await c.balance(userId, 'promo', currency),
      ];
    };
    expect(await taken('USD', 9, 5050n)).toEqual([5000, 5, 4]);
    expect(await taken('JPY', 100, 10n)).toEqual([9, 30, 70]);
    expect(await taken('JPY', 3, 10n)).toEqual([0, 0, 3]);
  });

  it('M3: on cycle invoices as the config says, and never beside a code where that is exclusive', async () => {
    const lines = [planLine(5000n, none)];
    const discount = { terms: { kind: 'percentage', percentage: 1000 }, shown: null } as const;
    const took = async (currency: string, over: Partial<Order>) => {
      const userId = await c.buyer();
      await s.t.done(incrementPromoCredit, { userId, currency, amount: 10 });
      return (await issued(userId, lines, { currency, ...over })).promoCreditDiscountAmount;
    };
    const cycle = { promo: { applied: 'recurring', cap: 0n } } as const;
    expect(await took('EUR', cycle)).toBe(0);
    await s.t.done(newCreditConfig, {
      type: 2,
      currency: 'GBP',
      exchangeRate: 100,
      recurring: 1,
      discountCodeExclusive: 1,
    });
    expect(await took('GBP', cycle)).toBe(1000);
    expect(await took('GBP', { promo })).toBe(1000);
    expect(await took('GBP', { promo, discount })).toBe(0);
    expect(await took('EUR', { promo, discount })).toBe(1000);
  });
});

describe('M2: the use of a discount', () => {
  const plan = { id: 7, type: 1, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 };
  /** Reserves a code for a new invoice and issues it, as a submit does. */
  const submit = async (code: string, userId: number, lines: OrderLine[]) => {
    const issue = c.inTx(async tx => {
      const invoiceId = tx.newId('in_');
      const facts = {
        code,
        userId,
        plan,
        currency: 'EUR',
        moment: tx.now,
        operation: 'create',
        paidInvoices: 0,
      } as const;
      const { terms } = await discounts.reserve(tx, { ...facts, invoiceId });
      const shown = await discounts.shown(tx, code);
      return c.composer.issue(tx, await c.orderOf(tx, userId, lines, { discount: { terms, shown } }), { invoiceId });
    });
    return documentOf(await issue);
  };
  const code = async (name: string, over: object) => {
    const terms = { billingType: 1, discountType: 1, discountPercentage: 3333, startTime: 0, endTime: 0 };
    const { discount } = await s.t.done(newDiscount, { code: name, ...terms, ...over });
    await s.t.done(activateDiscount, { id: discount.id });
    return async () => (await s.t.done(getDiscount, { id: discount.id })).discount.quantityUsed;
  };

  it.each([
    ['33.33 %', { discountPercentage: 3333 }, 666],
    ['50 %', { discountPercentage: 5000 }, 1000],
    ['fixed 2500', { discountType: 2, discountPercentage: 0, discountAmount: 2500, currency: 'EUR' }, 1999],
  ])('base 1999: %s', async (name, terms, expected) => {
    await code(name, terms);
    const onetime = planLine(700n, none, { kind: 'onetimeAddon' });
    const invoice = await submit(name, await c.buyer(), [planLine(1999n, none), onetime]);
    expect(invoice).toMatchObject({ discountAmount: expected, discountCode: name, totalAmount: 2699 - expected });
    expect(invoice.lines.map(({ discountAmount }) => discountAmount)).toEqual([expected, 0]);
  });

  it('comes back once when the invoice is cancelled, or when its term is over', async () => {
    const uses = await code('ONCE', { quantity: 1, userLimit: 1 });
    const userId = await c.buyer();
    const lines = [planLine(1000n, none)];
    const first = await submit('ONCE', userId, lines);
    expect(await uses()).toBe(1);
    await expect(submit('ONCE', userId, lines)).rejects.toMatchObject({ slug: 'invalid_parameters' });
    await s.moves.cancel(first.invoiceId);
    await s.moves.cancel(first.invoiceId);
    expect(await uses()).toBe(0);
    await submit('ONCE', userId, lines);
    s.clock.advance(s.term);
    await s.expiries.sweep();
    expect(await uses()).toBe(0);
    const last = await submit('ONCE', userId, lines);
    await s.moves.receive(last.invoiceId);
    expect(await uses()).toBe(1);
  });

  it('is counted once, however many submits and cancellations race', async () => {
    const uses = await code('RACE', { quantity: 3 });
    const userId = await c.buyer();
    const lines = [planLine(1000n, none)];
    const tries = await Promise.allSettled(Array.from({ length: 12 }, () => submit('RACE', userId, lines)));
    const won = tries.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []));
    expect(won).toHaveLength(3);
    await Promise.all(won.flatMap(({ invoiceId }) => [s.moves.cancel(invoiceId), s.moves.cancel(invoiceId)]));
    expect(await uses()).toBe(0);
  });
});

describe('D5: below the minimum of the gateway, which is 100', () => {
  it('an order of a subscription makes no document, and its lines are taxed with the next: 15, then 1000: net 1015', async () => {
    const userId = await c.buyer();
    const rest = planLine(15n, rate(20), { kind: 'carried', name: 'Proration' });
    await s.t.emitted();
    expect(await c.issue(userId, [rest])).toEqual({ kind: 'carried' });
    expect((await s.t.emitted()).map(({ type }) => type)).toEqual([]);
    const invoice = await issued(userId, [rest, planLine(1000n, rate(20))]);
    expect(invoice).toMatchObject({ totalAmountExcludingTax: 1015, taxAmount: 203, totalAmount: 1218 });
  });

  it('any other is refused, unless main credit covers it', async () => {
    const userId = await c.buyer();
    const lines = [planLine(15n, none)];
    await expect(c.issue(userId, lines, { belowMinimum: 'refuse' })).rejects.toMatchObject({
      slug: 'amount_below_minimum',
    });
    await c.giveMain(userId, 40n);
    expect(await issued(userId, lines, { belowMinimum: 'refuse' })).toMatchObject({ status: 3, amountDue: 0 });
    expect(await issued(userId, lines)).toMatchObject({ status: 3, partialCreditPaidAmount: 15 });
    expect(await c.balance(userId, 'main')).toBe(10);
  });
});

describe('V1: a preview', () => {
  it('is the document that is then made, and changes nothing', async () => {
    const userId = await c.buyer({ countryCode: 'FI' });
    await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 7 });
    await c.giveMain(userId, 500n);
    const discount = { terms: { kind: 'percentage', percentage: 2500 }, shown: null } as const;
    const lines = [planLine(1999n), planLine(301n, undefined, { kind: 'onetimeAddon' })];
    const order = await c.inTx(tx => c.orderOf(tx, userId, lines, { discount, promo }));
    expect(discountOf(order)).toBe(500n);
    const before = await s.everything();
    const previewed = await s.t.db.read(s.t.callerOf(), reader => c.composer.preview(reader, order));
    expect(await s.everything()).toEqual(before);
    const made = await issued(userId, lines, { discount, promo });
    expect(previewed.taxReason).toBe('Standard rate of FI');
    const shared = [
      'totalAmount',
      'taxAmount',
      'discountAmount',
      'promoCreditDiscountAmount',
      'amountDue',
      'taxes',
    ] as const;
    for (const field of [...shared, 'partialCreditPaidAmount', 'originAmount'] as const) {
      expect([field, previewed.document[field]]).toEqual([field, made[field]]);
    }
    expect(previewed.document.invoiceId).toBe('');
  });

  it('shows what is due as negative where it is credit', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [planLine(1000n, none)]);
    const order = await c.inTx(tx => c.orderOf(tx, userId, [creditLine(`${first.invoiceId}_1`, 400n, none)]));
    const { document } = await s.t.db.read(s.t.callerOf(), reader => c.composer.preview(reader, order));
    expect(document).toMatchObject({ totalAmount: -400, amountDue: -400, partialCreditPaidAmount: 0 });
  });
});

describe('a draft of an order', () => {
  it('is finished as the order is then: 900 units at 10 are 9000, with 30 more 9300', async () => {
    const userId = await c.buyer();
    await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 10 });
    const units = (quantity: number) => [planLine(10n, none, { kind: 'metered', name: 'Units', quantity })];
    const { draft } = await c.inTx(async tx =>
      c.composer.draft(tx, await c.orderOf(tx, userId, units(900), { promo })),
    );
    expect(await s.detail(draft.invoiceId)).toMatchObject({ status: 1, totalAmount: 9000, number: '' });
    for (const operation of [editInvoice, deleteInvoice]) {
      expect(await s.t.call(operation, { invoiceId: draft.invoiceId })).toMatchObject({ slug: 'invoice_not_draft' });
    }
    const finish = c.inTx(async tx => {
      const locked = await tx.lock(invoiceAggregate, draft.invoiceId, 'invoice_not_found');
      return c.composer.finish(tx, locked, await c.orderOf(tx, userId, units(930), { promo }));
    });
    expect(documentOf(await finish)).toMatchObject({
      ...{ invoiceId: draft.invoiceId, status: 2, totalAmount: 8300, promoCreditDiscountAmount: 1000 },
      lines: [{ quantity: 930, amountExcludingTax: 9300 }],
    });
  });
});

describe('D1: an invoice of total 0', () => {
  it('has no number and is not listed, unless by amount, where the merchant does not show such', async () => {
    const userId = await c.buyer();
    const free = () => issued(userId, [planLine(0n, none)]);
    const listed = async (filter: object = {}) =>
      (await s.t.done(listInvoices, { userId, status: [3], ...filter })).invoices.map(({ invoiceId }) => invoiceId);
    const shown = await free();
    expect(shown).toMatchObject({ status: 3, number: expect.stringMatching(/^INV-/) });
    await c.inTx(tx => changeSettings(tx, { showZeroInvoice: false }));
    const hidden = await free();
    expect(hidden).toMatchObject({ status: 3, number: '' });
    expect(await listed()).toEqual([shown.invoiceId]);
    expect(await listed({ amountEnd: 1 })).toEqual([hidden.invoiceId, shown.invoiceId]);
    const next = await issued(userId, [planLine(1000n, none)]);
    expect(Number(next.number.slice(4))).toBe(Number(shown.number.slice(4)) + 1);
    await c.inTx(tx => changeSettings(tx, { showZeroInvoice: true }));
  });
});
