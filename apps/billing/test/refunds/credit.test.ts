import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelInvoice,
  cancelRefund,
  deleteInvoice,
  editInvoice,
  finishInvoice,
  invoiceDetail,
  invoiceStatus,
  refundInvoice,
  refundStatus,
  setupWireTransfer,
} from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const balances = async (userId: number) =>
  Object.fromEntries(
    (await s.t.rows('select type, balance from credit_accounts where user_id = $1', [userId])).map(row => [
      row.type,
      Number(row.balance),
    ]),
  );
const order = (unitAmountExcludingTax: number) => ({
  taxPercentage: 0,
  lines: [{ name: 'Plan', unitAmountExcludingTax }],
});

describe('main credit', () => {
  it('is spent when an invoice is finished; the payment is for the rest: 4800 with 3600 leaves 1200', async () => {
    const userId = await s.userWithCredit({ main: 3600n });
    const invoice = await s.made({ userId, ...order(4800), finish: true });
    expect(invoice).toMatchObject({
      totalAmount: 4800,
      partialCreditPaidAmount: 3600,
      amountDue: 1200,
      status: invoiceStatus.processing,
    });
    expect(invoice.payment).toMatchObject({ totalAmount: 1200 });
    expect(await balances(userId)).toEqual({ main: 0 });
    await s.t.done(cancelInvoice, { invoiceId: invoice.invoiceId });
    expect(await balances(userId)).toEqual({ main: 3600 });
  });

  it('that covers all pays at once, without a payment', async () => {
    const userId = await s.userWithCredit({ main: 6000n });
    const invoice = await s.made({ userId, ...order(4800), finish: true });
    expect(invoice).toMatchObject({ status: invoiceStatus.paid, amountDue: 0, payment: null, link: '' });
    expect(await balances(userId)).toEqual({ main: 1200 });
  });

  it("is held back so that the rest is not below the gateway's minimum of 100", async () => {
    const userId = await s.userWithCredit({ main: 4750n });
    const invoice = await s.made({ userId, ...order(4800), finish: true });
    expect(invoice).toMatchObject({ partialCreditPaidAmount: 4700, amountDue: 100 });
    expect(await balances(userId)).toEqual({ main: 50 });
  });

  it('comes back when the term is over', async () => {
    const userId = await s.userWithCredit({ main: 3600n });
    const { invoiceId } = await s.made({ userId, ...order(4800), finish: true });
    s.clock.advance(s.term);
    await s.drain();
    expect(await s.detail(invoiceId)).toMatchObject({ status: invoiceStatus.failed });
    expect(await balances(userId)).toEqual({ main: 3600 });
  });

  it('comes back at once where a refund exceeds the payment, which goes first', async () => {
    const userId = await s.userWithCredit({ main: 3600n });
    const { invoiceId } = await s.made({ userId, ...order(4800), finish: true });
    await s.moves.receive(invoiceId);
    const { refund } = await s.t.done(refundInvoice, { invoiceId, refundAmount: 2000, reason: '' });
    expect(refund.status).toBe(refundStatus.created);
    expect(await balances(userId)).toEqual({ main: 800 });
    const all = await s.t.done(refundInvoice, { invoiceId, refundAmount: 2800, reason: '' });
    expect(all.refund.status).toBe(refundStatus.success);
    expect(await balances(userId)).toEqual({ main: 3600 });
    expect((await s.t.done(invoiceDetail, { invoiceId })).creditNotes).toMatchObject([
      { status: invoiceStatus.paid },
      { status: invoiceStatus.processing },
    ]);
  });

  it('that a refund gave stays with the user when the refund is cancelled, as one that succeeded', async () => {
    const userId = await s.userWithCredit({ main: 3600n });
    const { invoiceId } = await s.made({ userId, ...order(4800), finish: true });
    await s.moves.receive(invoiceId);
    const { refund } = await s.t.done(refundInvoice, { invoiceId, refundAmount: 2000, reason: '' });
    await s.t.done(cancelRefund, { refundId: refund.refundId });
    expect(await balances(userId)).toEqual({ main: 800 });
    const notes = (await s.t.done(invoiceDetail, { invoiceId })).creditNotes;
    expect(notes.map(({ status, totalAmount }) => [status, totalAmount]).toSorted()).toEqual([
      [3, -800],
      [5, -2000],
    ]);
    const over = await s.t.call(refundInvoice, { invoiceId, refundAmount: 4001, reason: '' });
    expect(over).toMatchObject({ slug: 'invalid_parameters' });
    expect(await s.t.call(refundInvoice, { invoiceId, refundAmount: 4000, reason: '' })).toMatchObject({ ok: true });
  });

  it('of one user is spent once, however many invoices are finished at once', async () => {
    const userId = await s.userWithCredit({ main: 5000n });
    const drafts = await Promise.all(Array.from({ length: 6 }, () => s.made({ userId, ...order(2000) })));
    await Promise.all(drafts.map(({ invoiceId }) => s.t.done(finishInvoice, { invoiceId, daysUtilDue: 3 })));
    const [row] = await s.t.rows('select sum(partial_credit_paid) as spent from invoices where user_id = $1', [userId]);
    expect(row?.spent).toBe('5000');
    expect(await balances(userId)).toEqual({ main: 0 });
  });
});

describe('promo credit', () => {
  it('is taken when the draft is made, before tax: 50 credits for 5050', async () => {
    const userId = await s.userWithCredit({ promo: 80 });
    const asked = { userId, ...order(5050), applyPromoCredit: true };
    const { invoiceId, ...invoice } = await s.made(asked);
    expect(invoice).toMatchObject({
      promoCreditDiscountAmount: 5000,
      totalAmount: 50,
      totalAmountExcludingTax: 50,
      promoCreditPayout: { creditAmount: 50, currencyAmount: 5000, exchangeRate: 100 },
    });
    expect(await balances(userId)).toEqual({ promo: 30 });
    await s.t.done(deleteInvoice, { invoiceId });
    await s.t.done(deleteInvoice, { invoiceId });
    expect(await balances(userId)).toEqual({ promo: 80 });
  });

  it('is taken again at an edit, as far as the cap goes, and stays where nothing of it changes', async () => {
    const userId = await s.userWithCredit({ promo: 80 });
    const { invoiceId } = await s.made({ userId, ...order(5050), applyPromoCredit: true, applyPromoCreditAmount: 20 });
    const edit = async (more: object) => (await s.t.done(editInvoice, { invoiceId, ...more })).invoice;
    expect(await edit({ name: 'April' })).toMatchObject({ promoCreditDiscountAmount: 2000 });
    expect(await edit({ lines: [{ name: 'Plan', unitAmountExcludingTax: 1500 }] })).toMatchObject({
      promoCreditDiscountAmount: 1500,
    });
    expect(await balances(userId)).toEqual({ promo: 65 });
    expect(await edit({ applyPromoCredit: false })).toMatchObject({ promoCreditDiscountAmount: 0, totalAmount: 1500 });
    expect(await balances(userId)).toEqual({ promo: 80 });
  });
});

describe('an invoice that is finished', () => {
  it('is refused below the minimum of its gateway, in its own currency only', async () => {
    const { invoiceId } = await s.made(order(99));
    const finish = () => s.t.call(finishInvoice, { invoiceId, daysUtilDue: 3 });
    expect(await finish()).toMatchObject({ slug: 'amount_below_minimum' });
    const foreign = await s.made({ ...order(99), currency: 'USD' });
    expect(await s.t.call(finishInvoice, { invoiceId: foreign.invoiceId, daysUtilDue: 3 })).toMatchObject({ ok: true });
  });

  it('freezes its parties, its taxes and its number', async () => {
    const invoice = await s.made({ finish: true });
    expect(invoice).toMatchObject({
      merchant: { name: 'Acme', countryCode: 'DE' },
      userSnapshot: { id: 1 },
      taxes: [{ category: 'S', ratePpm: 82_500, net: 6497, tax: 536, source: 'request' }],
      number: expect.stringMatching(/^INV-\d{6}$/),
    });
    expect(invoice.lines).toMatchObject([{ taxRatePpm: 82_500, taxPercentage: 825 }, { taxRatePpm: 82_500 }]);
  });

  it("counts on from the merchant's wish, with its prefix", async () => {
    const merchantId = 77;
    const caller = await s.stranger(merchantId);
    await s.made({ finish: true }, caller);
    const wish = { invoiceNumberPrefix: 'R-', nextInvoiceNumber: 500 };
    await s.t.rows('update merchant_copies set data = data || $1 where merchant_id = $2', [wish, merchantId]);
    const numbers = [];
    for (let at = 0; at < 2; at++) numbers.push((await s.made({ finish: true }, caller)).number);
    expect(numbers).toEqual(['R-000500', 'R-000501']);
    expect(await s.t.call(setupWireTransfer, { currency: 'EUR', minimumAmount: 1 }, caller)).toMatchObject({
      ok: false,
    });
  });

  it('and is cancelled is taken back by a credit note, unless its total is 0', async () => {
    const { invoiceId, number } = await s.made({ finish: true });
    await s.t.done(cancelInvoice, { invoiceId });
    const { creditNotes } = await s.t.done(invoiceDetail, { invoiceId });
    expect(creditNotes).toMatchObject([
      {
        status: invoiceStatus.paid,
        totalAmount: -7033,
        taxAmount: -536,
        invoiceName: `Cancellation of ${number}`,
        taxes: [{ net: -6497, tax: -536 }],
      },
    ]);
    expect(creditNotes[0]?.lines).toMatchObject([
      { sourceLineId: `${invoiceId}_1`, amount: -6492 },
      { sourceLineId: `${invoiceId}_2`, amount: -541 },
    ]);
  });
});
