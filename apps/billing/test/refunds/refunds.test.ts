import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelRefund,
  createMarkRefund,
  creditAccountType,
  explainInvoice,
  type Invoice,
  incrementPromoCredit,
  invoiceDetail,
  invoiceStatus,
  listCreditNotes,
  listRefunds,
  markRefundSuccess,
  markWireTransferSuccess,
  newCreditConfig,
  newRefund,
  paymentStatus,
  refundDetails,
  refundInvoice,
  refundStatus,
} from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const paid = async (over: object = {}): Promise<Invoice> => {
  const { invoiceId } = await s.made({ finish: true, ...over });
  await s.moves.receive(invoiceId);
  return s.detail(invoiceId);
};
const refund = (invoiceId: string, refundAmount: number, more: object = {}) =>
  s.t.call(refundInvoice, { invoiceId, refundAmount, reason: 'Unused', ...more });
const refunded = async (invoiceId: string, refundAmount: number) =>
  (await s.t.done(refundInvoice, { invoiceId, refundAmount, reason: 'Unused' })).refund;
const notesOf = async (invoiceId: string) => (await s.t.done(invoiceDetail, { invoiceId })).creditNotes;
const mark = (invoiceId: string) => s.t.call(markRefundSuccess, { invoiceId, reason: 'Sent' });

describe('a refund', () => {
  it('waits for its mark with a credit note without a number, and numbers it then', async () => {
    const invoice = await paid();
    await s.t.emitted();
    const made = await refunded(invoice.invoiceId, 2000);
    expect(made).toMatchObject({
      status: refundStatus.created,
      refundAmount: 2000,
      type: 1,
      paymentId: invoice.paymentId,
    });
    const [note] = await notesOf(invoice.invoiceId);
    expect(note).toMatchObject({
      status: invoiceStatus.processing,
      number: '',
      totalAmount: -2000,
      taxAmount: -152,
      refundId: made.refundId,
      originalPaymentInvoice: { invoiceId: invoice.invoiceId },
      refund: { refundId: made.refundId },
    });
    expect(await s.types()).toEqual([
      'invoice.updated 4',
      'invoice.created 1',
      'refund.created 1',
      'operation.logged 1',
    ]);
    expect(await mark(invoice.invoiceId)).toMatchObject({ ok: true });
    expect(await s.types()).toEqual(['refund.success 2', 'invoice.paid 2', 'operation.logged 1']);
    const [issued] = await notesOf(invoice.invoiceId);
    expect(issued).toMatchObject({ status: invoiceStatus.paid, number: expect.stringMatching(/^CN-\d{6}$/) });
    expect(await s.payment(invoice.paymentId)).toMatchObject({ refundAmount: 2000 });
  });

  it.each([
    { name: 'T 7033, X 536', order: {}, amounts: [2000, 2000, 3033], taxes: [152, 153, 231] },
    {
      name: 'T 33499, net 27916 at 20 %',
      order: { taxPercentage: 2000, lines: [{ name: 'Year', unitAmountExcludingTax: 27_916 }] },
      amounts: [8200, 6900, 10_200, 8199],
      taxes: [1367, 1150, 1700, 1366],
    },
  ])('gives tax back cumulatively: $name', async ({ order, amounts, taxes }) => {
    const { invoiceId } = await paid(order);
    for (const amount of amounts) await refunded(invoiceId, amount);
    const notes = (await notesOf(invoiceId)).toReversed();
    expect(notes.map(({ taxAmount }) => -taxAmount)).toEqual(taxes);
    const sums = await s.t.rows(
      `select bool_and(refunded_net = amount - tax and refunded_tax = tax) as whole from invoice_lines where invoice_id = $1`,
      [invoiceId],
    );
    expect(sums).toEqual([{ whole: true }]);
    expect(await refund(invoiceId, 1)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/refundAmount', message: expect.stringContaining('0 of invoice') }],
    });
  });

  it('gives promo credits back cumulatively: 336 and 664 of 1000', async () => {
    s.knowUser(81);
    // at 1 hundredth of a major unit, a credit is a minor unit
    await s.t.done(newCreditConfig, { type: creditAccountType.promo, currency: 'EUR', exchangeRate: 1 });
    await s.t.done(incrementPromoCredit, { userId: 81, currency: 'EUR', amount: 1000 });
    const { invoiceId } = await paid({ userId: 81, applyPromoCredit: true });
    expect(await s.detail(invoiceId)).toMatchObject({ totalAmount: 5951, promoCreditDiscountAmount: 1000 });
    const balance = async () =>
      Number((await s.t.rows(`select balance from credit_accounts where user_id = 81 and type = 'promo'`))[0]?.balance);
    const seen = [];
    for (const amount of [2000, 3951]) {
      await refunded(invoiceId, amount);
      await mark(invoiceId);
      seen.push(await balance());
    }
    expect(seen).toEqual([336, 1000]);
  });

  it('that is cancelled takes everything back, and withdraws its credit note', async () => {
    const { invoiceId } = await paid();
    const { refundId } = await refunded(invoiceId, 2000);
    await s.t.emitted();
    expect(await s.t.call(cancelRefund, { refundId })).toMatchObject({ ok: true });
    expect(await s.types()).toEqual([
      'invoice.updated 5',
      'invoice.cancelled 2',
      'refund.cancelled 2',
      'operation.logged 1',
    ]);
    expect(await notesOf(invoiceId)).toMatchObject([{ status: invoiceStatus.cancelled, number: '' }]);
    expect(await s.t.call(cancelRefund, { refundId })).toMatchObject({ slug: 'refund_not_open' });
    expect(await mark(invoiceId)).toMatchObject({ slug: 'refund_not_open' });
    expect(await refunded(invoiceId, 7033)).toMatchObject({ status: refundStatus.created });
  });

  it('is marked by its credit note, where an invoice has several', async () => {
    const { invoiceId } = await paid();
    await refunded(invoiceId, 1000);
    await refunded(invoiceId, 2000);
    expect(await mark(invoiceId)).toMatchObject({ slug: 'refund_not_open' });
    const [second] = await notesOf(invoiceId);
    expect(await mark(second?.invoiceId ?? '')).toMatchObject({ ok: true });
    expect(await mark(invoiceId)).toMatchObject({ ok: true });
  });

  it('by hand is of type 2', async () => {
    const { invoiceId } = await paid();
    const { refund: made } = await s.t.done(createMarkRefund, { invoiceId, refundAmount: 500, reason: 'In cash' });
    expect(made).toMatchObject({ type: 2, status: refundStatus.created, refundComment: 'In cash' });
  });

  it('of a payment is listed under it, once per reference', async () => {
    const { paymentId } = await paid();
    const input = { paymentId, externalRefundId: 'r-1', currency: 'EUR', refundAmount: 100 };
    expect(await s.t.call(newRefund, { ...input, currency: 'USD' })).toMatchObject({ issues: [{ path: '/currency' }] });
    const results = await Promise.all([1, 2].map(() => s.t.call(newRefund, input)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(results.find(({ ok }) => !ok)).toMatchObject({ issues: [{ path: '/externalRefundId' }] });
    const { refundDetails: listed, total } = await s.t.done(listRefunds, { paymentId });
    expect([listed, total]).toMatchObject([[{ payment: { paymentId }, user: { id: 1 } }], 1]);
    const { refundId = '' } = listed[0]?.refund ?? {};
    expect(await s.t.done(refundDetails, { refundId })).toEqual({ refundDetail: listed[0] });
    expect(await s.t.call(refundDetails, { refundId: 're_none' })).toMatchObject({ slug: 'refund_not_found' });
    expect(await s.t.call(cancelRefund, { refundId: 're_none' })).toMatchObject({ slug: 'refund_not_found' });
  });

  it.each(['draft', 'open', 'cancelled', 'failed', 'reversed'] as const)(
    'is refused of an invoice that is %s',
    async state => {
      const { invoiceId } = await s.inState(state);
      expect(await refund(invoiceId, 100)).toMatchObject({ slug: 'invoice_not_refundable' });
    },
  );

  it('is never more than what was paid, 16 at once', async () => {
    const { invoiceId } = await paid();
    const results = await Promise.all(Array.from({ length: 16 }, () => refund(invoiceId, 1000)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(7);
    const [row] = await s.t.rows(
      `select refunded_amount, (select sum(amount) from refunds r where r.invoice_id = i.invoice_id) as refunds
       from invoices i where invoice_id = $1`,
      [invoiceId],
    );
    expect(row).toMatchObject({ refunded_amount: '7000', refunds: '7000' });
  });

  it('is marked or cancelled, never both', async () => {
    const made = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { invoiceId } = await paid();
        return { invoiceId, refundId: (await refunded(invoiceId, 500)).refundId };
      }),
    );
    const results = await Promise.all(
      made.flatMap(({ invoiceId, refundId }) => [mark(invoiceId), s.t.call(cancelRefund, { refundId })]),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(12);
  });
});

describe('credit notes', () => {
  it('are listed by themselves, and never among invoices', async () => {
    const { creditNotes, total } = await s.t.done(listCreditNotes, { count: 100 });
    expect(total).toBe(creditNotes.length);
    expect(creditNotes.every(note => note.totalAmount <= 0 && note.originalPaymentInvoice)).toBe(true);
    const numbered = creditNotes.find(({ number }) => number !== '');
    const found = await s.t.done(listCreditNotes, { searchKey: numbered?.number });
    expect(found.creditNotes).toEqual([numbered]);
  });

  it('have a gapless series of their own', async () => {
    const rows = await s.t.rows(
      `select counter::int from invoices where kind = 'credit_note' and counter > 0 order by 1`,
    );
    expect(rows.map(({ counter }) => counter)).toEqual(rows.map((_, at) => at + 1));
  });

  it('and invoices are explained in lines and totals that add up', async () => {
    const ids = await s.t.rows('select invoice_id, total_amount from invoices');
    for (const { invoice_id: invoiceId, total_amount: total } of ids) {
      const { lines, totals } = await s.t.done(explainInvoice, { invoiceId });
      expect(lines.reduce((sum, { amount }) => sum + amount, 0)).toBe(Number(total));
      expect(totals.slice(0, -1).reduce((sum, { amount }) => sum + amount, 0)).toBe(Number(total));
      expect(totals.at(-1)?.amount).toBe(Number(total));
    }
  });
});

describe('a transfer', () => {
  const transfer = (invoiceId: string, more: object) =>
    s.t.call(markWireTransferSuccess, { invoiceId, transferNumber: 'T-9', ...more });

  it('that is too high leaves a surplus, which goes to main credit', async () => {
    s.knowUser(91);
    const { invoiceId, paymentId } = await s.made({ userId: 91, finish: true });
    expect(await transfer(invoiceId, { amountReceived: 7100 })).toMatchObject({ ok: true });
    expect(await s.detail(invoiceId)).toMatchObject({
      status: invoiceStatus.paid,
      surplusAmount: 67,
      totalAmount: 7033,
    });
    expect(await s.payment(paymentId)).toMatchObject({ paymentAmount: 7033 });
    const main = await s.t.rows(`select balance from credit_accounts where user_id = 91 and type = 'main'`);
    expect(main).toEqual([{ balance: '67' }]);
    expect(await refund(invoiceId, 7034)).toMatchObject({ issues: [{ path: '/refundAmount' }] });
  });

  it('that is too low is refused, or accepted with a credit note of bank charges', async () => {
    const { invoiceId, paymentId } = await s.made({ finish: true });
    expect(await transfer(invoiceId, { amountReceived: 7000 })).toMatchObject({
      issues: [{ path: '/amountReceived', message: 'is 7000: 33 less than the 7033 due' }],
    });
    expect(await transfer(invoiceId, { amountReceived: 7000, acceptShort: true })).toMatchObject({ ok: true });
    const { invoice, creditNotes } = await s.t.done(invoiceDetail, { invoiceId });
    expect(invoice.status).toBe(invoiceStatus.paid);
    expect(creditNotes).toMatchObject([
      { invoiceName: 'Bank charges', status: invoiceStatus.paid, totalAmount: -33, taxAmount: -3 },
    ]);
    expect(await s.payment(paymentId)).toMatchObject({ status: paymentStatus.success, paymentAmount: 7000 });
    expect(await refund(invoiceId, 7001)).toMatchObject({ slug: 'invalid_parameters' });
    expect(await refund(invoiceId, 7000)).toMatchObject({ ok: true });
  });
});
