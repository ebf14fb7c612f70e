import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelRefund,
  creditAccountType,
  discountType,
  emptyOf,
  explainInvoice,
  getDiscount,
  type Invoice,
  incrementPromoCredit,
  invoiceDetail,
  invoiceStatus,
  listRefunds,
  markRefundSuccess,
  newCreditConfig,
  Plan,
  refundInvoice,
  refundStatus,
  setUsRates,
  UsVatConfig,
} from '@recur/contracts';
import { rate, reverseCharge } from '../pricing/samples.js';
import { activeCode, type Shop, shop } from '../world/shop.js';
import { credit, issuing, item } from './issuer.js';

// The worked examples of composed documents, on the database, to the unit.

let s: Shop;
let c: ReturnType<typeof issuing>;
beforeAll(async () => {
  s = await shop();
  c = issuing(s);
});
afterAll(() => s.t.close());

const [at20, none] = [rate(20), rate(0)];
const refunded = (invoiceId: string, refundAmount: number) =>
  s.t.call(refundInvoice, { invoiceId, refundAmount, reason: '' });
const promo = (amount: number, userId: number, currency = 'EUR') =>
  s.t.done(incrementPromoCredit, { userId, currency, amount });
/** A buyer whom everything is sold to at 20 % (Austria). */
const austrian = () => c.buyer({ countryCode: 'AT' });

describe('T: tax', () => {
  it('−5000 at 20 % and +8000 reverse charge: −1000 + 0, total 2000', async () => {
    const userId = await austrian();
    const first = await c.paid(userId, [item(5000n)]);
    expect(first).toMatchObject({ taxAmount: 1000, taxes: [{ ratePpm: 200_000, source: 'country' }] });
    // the buyer has become a business in the meantime
    const invoice = await c.make(userId, [credit(first, 5000n, at20), item(8000n)], { vatNumber: 'ATU13585627' });
    expect(invoice).toMatchObject({ totalAmount: 2000, taxAmount: -1000, taxPercentage: 0 });
    expect(invoice.taxes).toMatchObject([
      { category: 'S', ratePpm: 200_000, net: -5000, tax: -1000 },
      { category: reverseCharge.category, ratePpm: 0, net: 8000, tax: 0 },
    ]);
  });

  it('Estonia 22 → 24 % on 2025-07-01: June usage 10000 → 2200, July fee 5000 → 1200, total 18400', async () => {
    const [june, july] = ['2025-06-01', '2025-07-01'].map(day => Date.parse(day) / 1000);
    const period = { start: june ?? 0, end: july ?? 0 };
    const usage = item(10_000n, { key: 'usage:1', kind: 'metered', name: 'June', period });
    const invoice = await c.make(await c.buyer({ countryCode: 'EE' }), [usage, item(5000n)]);
    expect(invoice.lines.map(({ tax, taxRatePpm }) => [tax, taxRatePpm])).toEqual([
      [2200, 220_000],
      [1200, 240_000],
    ]);
    expect(invoice.totalAmount).toBe(18_400);
    const { lines, totals } = await s.t.done(explainInvoice, { invoiceId: invoice.invoiceId });
    expect(lines.map(({ taxReason }) => taxReason)).toEqual(['Standard rate of EE', 'Standard rate of EE']);
    expect(totals.at(-1)).toEqual({ text: 'Total', amount: 18_400 });
  });

  it('a sale in the US is taxed by the state where its product has a nexus: 8875 on 100000 in NY, 64451 on 765000 in TX', async () => {
    const state = (code: string) => ({ countryCode: 'US', state: code, zip: '' });
    await s.t.done(setUsRates, {
      rates: [
        { ...state('NY'), ratePpm: 88_750 },
        { ...state('TX'), ratePpm: 84_250 },
      ],
    });
    const nexusAddresses = ['NY', 'TX'].map(code => ({
      address: '',
      city: '',
      countryCode: 'US',
      state: code,
      zipCode: '',
      verified: false,
    }));
    s.knowPlan(60, { amount: 1, productId: 9 });
    s.knowProduct(9, { usVATConfig: { ...emptyOf(UsVatConfig), active: true, nexusAddresses } });
    const plan = { ...emptyOf(Plan), id: 60, productId: 9 };
    const taxed = async (code: string, amount: bigint) =>
      (await c.make(await c.buyer({ countryCode: 'US', state: code }), [item(amount, { plan })])).taxAmount;
    // the copy of the product is there once something of it was sold
    expect([await taxed('NY', 100_000n), await taxed('TX', 765_000n)]).toEqual([8875, 64_451]);
  });
});

describe('reductions', () => {
  it('the discount first, then promo credit, then tax, then main credit', async () => {
    const userId = await austrian();
    await promo(20, userId);
    await s.giveMain(userId, 1000n);
    const discount = { is: 'terms', code: '', terms: { kind: 'percentage', percentage: 5000 } } as const;
    const bill = { discount, promo: { apply: true, cap: 0 } };
    const previewed = await c.preview(userId, [item(10_000n)], bill);
    const invoice = await c.make(userId, [item(10_000n)], bill);
    const amounts = {
      discountAmount: 5000,
      promoCreditDiscountAmount: 2000,
      totalAmountExcludingTax: 3000,
      taxAmount: 600,
      totalAmount: 3600,
      partialCreditPaidAmount: 1000,
      amountDue: 2600,
    };
    expect(invoice).toMatchObject(amounts);
    expect(previewed).toMatchObject(amounts);
  });

  it('promo credits are spent whole: 50 or 5 of them pay 5000 of 5050, as the rate is; 30 pay 9 JPY, and 3 pay nothing', async () => {
    await s.t.done(newCreditConfig, { type: creditAccountType.promo, currency: 'USD', exchangeRate: 1000 });
    await s.t.done(newCreditConfig, { type: creditAccountType.promo, currency: 'JPY', exchangeRate: 30 });
    const taken = async (currency: string, amount: number, base: bigint) => {
      const userId = await c.buyer();
      await promo(amount, userId, currency);
      const invoice = await c.make(userId, [item(base)], { currency, promo: { apply: true, cap: 0 } });
      const spent = invoice.promoCreditPayout?.creditAmount ?? 0;
      return [invoice.promoCreditDiscountAmount, spent, await s.balance(userId, 'promo', currency)];
    };
    expect(await taken('CHF', 500, 5050n)).toEqual([5000, 50, 450]);
    expect(await taken('USD', 9, 5050n)).toEqual([5000, 5, 4]);
    expect(await taken('JPY', 100, 10n)).toEqual([9, 30, 70]);
    expect(await taken('JPY', 3, 10n)).toEqual([0, 0, 3]);
  });

  it('in the cycle as the config says, and never beside a code where that is exclusive', async () => {
    const discount = { is: 'terms', code: '', terms: { kind: 'percentage', percentage: 1000 } } as const;
    const terms = {
      type: creditAccountType.promo,
      currency: 'GBP',
      exchangeRate: 100,
      recurring: 1,
      discountCodeExclusive: 1,
    };
    const took = async (currency: string, over: object) => {
      const userId = await c.buyer();
      await promo(10, userId, currency);
      return (await c.make(userId, [item(5000n)], { currency, ...over })).promoCreditDiscountAmount;
    };
    await s.t.done(newCreditConfig, terms);
    const asked = { promo: { apply: true, cap: 0 } };
    expect(await took('EUR', { reason: 'cycle' })).toBe(0);
    expect(await took('GBP', { reason: 'cycle' })).toBe(1000);
    expect(await took('GBP', asked)).toBe(1000);
    expect(await took('GBP', { ...asked, discount })).toBe(0);
    expect(await took('EUR', { ...asked, discount })).toBe(1000);
  });
});

describe('the use of a code', () => {
  const code = async (name: string, settings: Parameters<typeof activeCode>[2]) => {
    const { id } = await activeCode(s.t, name, { discountPercentage: 3333, ...settings });
    return async () => (await s.t.done(getDiscount, { id })).discount.quantityUsed;
  };
  const submit = (name: string, userId: number, amount = 1999n) => {
    const discount = { is: 'code', code: name, operation: 'create' } as const;
    return c.make(userId, [item(amount), item(700n, { kind: 'onetimeAddon' })], { discount });
  };

  it.each([
    ['33.33 %', { discountPercentage: 3333 }, 666],
    ['50 %', { discountPercentage: 5000 }, 1000],
    [
      'fixed 2500',
      { discountType: discountType.fixedAmount, discountPercentage: 0, discountAmount: 2500, currency: 'EUR' },
      1999,
    ],
  ])('base 1999: %s', async (name, terms, expected) => {
    await code(name, terms);
    const invoice = await submit(name, await c.buyer());
    expect(invoice).toMatchObject({ discountAmount: expected, discountCode: name, totalAmount: 2699 - expected });
    expect(invoice.lines.map(({ discountAmount }) => discountAmount)).toEqual([expected, 0]);
  });

  it('comes back once when the invoice is cancelled, or when its term is over', async () => {
    const uses = await code('ONCE', { quantity: 1, userLimit: 1 });
    const userId = await c.buyer();
    const first = await submit('ONCE', userId);
    expect(await uses()).toBe(1);
    await expect(submit('ONCE', userId)).rejects.toMatchObject({ slug: 'invalid_parameters' });
    await s.moves.cancel(first.invoiceId);
    await s.moves.cancel(first.invoiceId);
    expect(await uses()).toBe(0);
    await submit('ONCE', userId);
    s.clock.advance(s.term);
    await s.drain();
    expect(await uses()).toBe(0);
    await s.moves.receive((await submit('ONCE', userId)).invoiceId);
    expect(await uses()).toBe(1);
  });

  it('is counted once, however many submits and cancellations race', async () => {
    const uses = await code('RACE', { quantity: 3 });
    const userId = await c.buyer();
    const tries = await Promise.allSettled(Array.from({ length: 12 }, () => submit('RACE', userId)));
    const won = tries.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []));
    expect(won).toHaveLength(3);
    await Promise.all(won.flatMap(({ invoiceId }) => [s.moves.cancel(invoiceId), s.moves.cancel(invoiceId)]));
    expect(await uses()).toBe(0);
  });
});

describe('a negative total is a credit note', () => {
  it('a downgrade from 10000 to 4000 at half of the month is a credit note of 3600 with its tax; of the next 4800, 1200 are charged', async () => {
    const userId = await austrian();
    const first = await c.paid(userId, [item(10_000n)]);
    expect(first).toMatchObject({ totalAmount: 12_000, taxAmount: 2000 });
    const note = await c.make(userId, [credit(first, 5000n, at20), item(2000n)]);
    expect(note).toMatchObject({
      totalAmount: -3600,
      totalAmountExcludingTax: -3000,
      taxAmount: -600,
      amountDue: -3600,
      status: invoiceStatus.paid,
      number: expect.stringMatching(/^CN-/),
      payment: null,
      taxes: [{ category: 'S', ratePpm: 200_000, net: -3000, tax: -600 }],
      lines: [{ sourceLineId: `${first.invoiceId}_1`, amount: -6000 }, { amount: 2400 }],
    });
    expect(await s.balance(userId, 'main')).toBe(3600);
    const { creditNotes } = await s.t.done(invoiceDetail, { invoiceId: first.invoiceId });
    expect(creditNotes.map(({ number }) => number)).toEqual([note.number]);
    const { totals } = await s.t.done(explainInvoice, { invoiceId: note.invoiceId });
    expect(totals.at(-1)).toEqual({ text: 'Total', amount: -3600 });
    const next = await c.make(userId, [item(4000n)]);
    expect(next).toMatchObject({ totalAmount: 4800, partialCreditPaidAmount: 3600, amountDue: 1200 });
  });

  it('a cancellation with 40 % left of 10000 and usage of 1250 is a credit note of 2750 and its tax of 550', async () => {
    const userId = await austrian();
    const first = await c.paid(userId, [item(10_000n)]);
    const usage = item(1250n, { key: 'usage:1', kind: 'metered' });
    expect(await c.make(userId, [credit(first, 4000n, at20), usage])).toMatchObject({
      totalAmountExcludingTax: -2750,
      taxAmount: -550,
      totalAmount: -3300,
    });
  });

  it('a year of 144000 changed at half, credit note of 43200 of which −72000 are its lines: refundable 72000', async () => {
    const userId = await c.buyer();
    const year = await c.paid(userId, [item(144_000n)]);
    const note = await c.make(userId, [credit(year, 72_000n, none), item(28_800n)]);
    expect(note).toMatchObject({ totalAmount: -43_200 });
    expect(await refunded(year.invoiceId, 72_001)).toMatchObject({
      issues: [{ message: expect.stringContaining('72000') }],
    });
    expect(await refunded(year.invoiceId, 72_000)).toMatchObject({ ok: true });
  });

  it('gives back no more of a line than is left of it, refunds included', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [item(1000n)]);
    await refunded(first.invoiceId, 400);
    await expect(c.make(userId, [credit(first, 601n, none)])).rejects.toMatchObject({ slug: 'total_changed' });
    expect(await c.make(userId, [credit(first, 600n, none)])).toMatchObject({
      status: invoiceStatus.paid,
      totalAmount: -600,
    });
  });
});

describe('a negative total that is to be refunded', () => {
  const given = async () => {
    const userId = await c.buyer();
    const older = await c.paid(userId, [item(1000n)]);
    s.clock.advance(1);
    const newer = await c.paid(userId, [item(600n)]);
    const items = [credit(older, 800n, none), credit(newer, 600n, none)];
    const note = await c.make(userId, items, {}, { refund: true });
    const of = async ({ paymentId }: Invoice) =>
      (await s.t.done(listRefunds, { paymentId, page: 0, count: 10 })).refundDetails.map(({ refund }) => refund);
    return { userId, older, newer, note, refunds: [...(await of(newer)), ...(await of(older))] };
  };

  it('goes back through the payments, the newest first; a wire stays open until it is marked', async () => {
    const { userId, older, newer, note, refunds } = await given();
    expect(note).toMatchObject({ totalAmount: -1400, status: invoiceStatus.paid });
    expect(refunds).toMatchObject([
      { invoiceId: newer.invoiceId, refundAmount: 600, status: refundStatus.created },
      { invoiceId: older.invoiceId, refundAmount: 800, status: refundStatus.created },
    ]);
    expect(await s.balance(userId, 'main')).toBe(0);
    expect(await refunded(older.invoiceId, 201)).toMatchObject({ slug: 'invalid_parameters' });
    await s.t.done(markRefundSuccess, { invoiceId: newer.invoiceId });
    expect(await s.payment(newer.paymentId)).toMatchObject({ refundAmount: 600 });
  });

  it('goes to the main account where it was not made, or exceeds what was paid', async () => {
    const { userId, refunds } = await given();
    await s.t.done(cancelRefund, { refundId: refunds[1]?.refundId });
    expect(await s.balance(userId, 'main')).toBe(800);
    const other = await c.buyer();
    await s.giveMain(other, 700n);
    const first = await c.paid(other, [item(1000n)]);
    expect(first).toMatchObject({ partialCreditPaidAmount: 700 });
    await c.make(other, [credit(first, 900n, none)], {}, { refund: true });
    expect(await s.balance(other, 'main')).toBe(600);
  });
});

it('a proration of 15 below the minimum of 100 bills nothing, and is on the next invoice: 1015', async () => {
  const userId = await austrian();
  const rest = item(15n, { kind: 'carried', name: 'Proration' });
  expect(await c.isCarried(userId, [rest])).toBe(true);
  const next = await c.make(userId, [rest, item(1000n)]);
  expect(next).toMatchObject({ totalAmountExcludingTax: 1015, taxAmount: 203, totalAmount: 1218 });
});
