import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelRefund,
  explainInvoice,
  type Invoice,
  incrementPromoCredit,
  invoiceDetail,
  listRefunds,
  markRefundSuccess,
  refundInvoice,
} from '@recur/contracts';
import { rate } from '../../pricing/samples.js';
import { type Shop, shop } from '../../shop.js';
import { counter, creditLine, documentOf, planLine } from './counter.js';

let s: Shop;
let c: ReturnType<typeof counter>;
beforeAll(async () => {
  s = await shop();
  c = counter(s);
});
afterAll(() => s.t.close());

const at20 = rate(20);
const lineOf = ({ invoiceId }: Invoice, at = 1) => `${invoiceId}_${at}`;
const refunded = (invoiceId: string, refundAmount: number) =>
  s.t.call(refundInvoice, { invoiceId, refundAmount, reason: '' });

describe('M5: a negative total', () => {
  it('plan 10000 + 20 %; to 4000 at half: −5000 + 2000, tax −600: credit note 3600; the next 4800 is charged 1200', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [planLine(10_000n, at20)]);
    expect(first).toMatchObject({ totalAmount: 12_000, taxAmount: 2000 });
    await s.t.emitted();
    const issued = await c.issue(userId, [creditLine(lineOf(first), 5000n, at20), planLine(2000n, at20)]);
    const note = documentOf(issued);
    expect(issued.kind).toBe('credit_note');
    expect(note).toMatchObject({
      ...{ totalAmount: -3600, totalAmountExcludingTax: -3000, taxAmount: -600, amountDue: -3600, status: 3 },
      ...{
        number: expect.stringMatching(/^CN-/),
        payment: null,
        originalPaymentInvoice: { invoiceId: first.invoiceId },
      },
      taxes: [{ category: 'S', ratePpm: 200_000, net: -3000, tax: -600 }],
      lines: [
        { sourceLineId: lineOf(first), amount: -6000 },
        { sourceLineId: '', amount: 2400 },
      ],
    });
    const types = (await s.t.emitted()).map(({ type }) => type);
    expect(types).toEqual(['invoice.updated', 'credit.account.updated', 'invoice.created', 'operation.logged']);
    expect(await c.balance(userId, 'main')).toBe(3600);
    const { creditNotes } = await s.t.done(invoiceDetail, { invoiceId: first.invoiceId });
    expect(creditNotes.map(({ number }) => number)).toEqual([note.number]);
    const { totals, lines } = await s.t.done(explainInvoice, { invoiceId: note.invoiceId });
    expect(totals.at(-1)).toEqual({ text: 'Total', amount: -3600 });
    expect(lines.map(({ amount }) => amount)).toEqual([-6000, 2400]);
    const next = await c.issue(userId, [planLine(4000n, at20)]);
    expect(documentOf(next)).toMatchObject({ totalAmount: 4800, partialCreditPaidAmount: 3600, amountDue: 1200 });
    expect(documentOf(next).payment).toMatchObject({ totalAmount: 1200 });
  });

  it('U7: net 10000 + 2000, 40 % left, usage 1250: −2750, tax −550: credit note 3300', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [planLine(10_000n, at20)]);
    const lines = [creditLine(lineOf(first), 4000n, at20), planLine(1250n, at20, { kind: 'metered' })];
    expect(documentOf(await c.issue(userId, lines))).toMatchObject({
      ...{ totalAmountExcludingTax: -2750, taxAmount: -550, totalAmount: -3300 },
    });
    expect(await c.balance(userId, 'main')).toBe(3300);
  });

  it('D3: a year of 144000 changed at half, credit note of 43200 of which −72000 are its lines: refundable 72000', async () => {
    const userId = await c.buyer();
    const year = await c.paid(userId, [planLine(144_000n, rate(0))]);
    const lines = [creditLine(lineOf(year), 72_000n, rate(0)), planLine(28_800n, rate(0))];
    expect(documentOf(await c.issue(userId, lines))).toMatchObject({ totalAmount: -43_200 });
    expect(await refunded(year.invoiceId, 72_001)).toMatchObject({
      issues: [{ message: expect.stringContaining('72000') }],
    });
    expect(await refunded(year.invoiceId, 72_000)).toMatchObject({ ok: true });
  });

  it('gives back no more of a line than is left of it, and what a refund gave back is not given again', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [planLine(1000n, rate(0))]);
    await expect(c.issue(userId, [creditLine(lineOf(first), 1001n, rate(0))])).rejects.toThrow(/given_back/);
    await refunded(first.invoiceId, 400);
    await expect(c.issue(userId, [creditLine(lineOf(first), 601n, rate(0))])).rejects.toThrow(/given_back/);
    expect(documentOf(await c.issue(userId, [creditLine(lineOf(first), 600n, rate(0))]))).toMatchObject({ status: 3 });
  });

  it('returns the promo share of a line in credits: 100 % off by promo credit gives back no money', async () => {
    const userId = await c.buyer();
    await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 50 });
    const promo = { applied: true, cap: 0n };
    const first = await c.paid(userId, [planLine(10_000n, rate(0))], { promo });
    expect(first).toMatchObject({ totalAmount: 5000, promoCreditPayout: { creditAmount: 50 } });
    const credit = creditLine(lineOf(first), 2500n, rate(0), { promoCreditsReturned: 25n });
    expect(documentOf(await c.issue(userId, [credit]))).toMatchObject({ totalAmount: -2500 });
    expect([await c.balance(userId, 'main'), await c.balance(userId, 'promo')]).toEqual([2500, 25]);
    const [row] = await s.t.rows('select promo_credited from invoices where invoice_id = $1', [first.invoiceId]);
    expect(row?.promo_credited).toBe('25');
  });
});

describe('a credit line on an invoice that is to be paid', () => {
  it('takes effect when the invoice is paid', async () => {
    const userId = await c.buyer();
    const first = await c.paid(userId, [planLine(1000n, rate(0))]);
    const change = () => c.issue(userId, [creditLine(lineOf(first), 500n, rate(0)), planLine(2000n, rate(0))]);
    const { invoiceId } = documentOf(await change());
    expect(await refunded(first.invoiceId, 1)).toMatchObject({ ok: true });
    await s.moves.cancel(invoiceId);
    const again = documentOf(await change());
    await s.moves.receive(again.invoiceId);
    expect(await refunded(first.invoiceId, 500)).toMatchObject({
      issues: [{ message: expect.stringContaining('499') }],
    });
  });
});

describe('M5: a negative total that is to be refunded', () => {
  const given = async () => {
    const userId = await c.buyer();
    const older = await c.paid(userId, [planLine(1000n, rate(0))]);
    s.clock.advance(1);
    const newer = await c.paid(userId, [planLine(600n, rate(0))]);
    const lines = [creditLine(lineOf(older), 800n, rate(0)), creditLine(lineOf(newer), 600n, rate(0))];
    const note = documentOf(await c.issue(userId, lines, {}, { refund: true }));
    const { refundDetails } = await s.t.done(listRefunds, { paymentId: newer.paymentId, page: 0, count: 10 });
    const of = await s.t.done(listRefunds, { paymentId: older.paymentId, page: 0, count: 10 });
    return { userId, older, newer, note, refunds: [...refundDetails, ...of.refundDetails].map(({ refund }) => refund) };
  };

  it('goes back through the payments, the newest first; a wire stays open until it is marked', async () => {
    const { userId, older, newer, note, refunds } = await given();
    expect(note).toMatchObject({ totalAmount: -1400, status: 3 });
    expect(refunds).toMatchObject([
      { invoiceId: newer.invoiceId, refundAmount: 600, status: 10 },
      { invoiceId: older.invoiceId, refundAmount: 800, status: 10 },
    ]);
    expect(await c.balance(userId, 'main')).toBe(0);
    expect(await refunded(older.invoiceId, 201)).toMatchObject({
      issues: [{ message: expect.stringContaining('200') }],
    });
    await s.t.done(markRefundSuccess, { invoiceId: newer.invoiceId });
    expect(await s.payment(newer.paymentId)).toMatchObject({ refundAmount: 600 });
    const { creditNotes } = await s.t.done(invoiceDetail, { invoiceId: older.invoiceId });
    expect(creditNotes).toHaveLength(1);
  });

  it('goes to the main account where it was not made', async () => {
    const { userId, older, refunds } = await given();
    const { refundId = '' } = refunds[1] ?? {};
    await s.t.done(cancelRefund, { refundId });
    expect(await c.balance(userId, 'main')).toBe(800);
    expect(await refunded(older.invoiceId, 200)).toMatchObject({ ok: true });
  });

  it('goes to the main account as far as it exceeds what was paid', async () => {
    const userId = await c.buyer();
    await c.giveMain(userId, 700n);
    const first = await c.paid(userId, [planLine(1000n, rate(0))]);
    expect(first).toMatchObject({ partialCreditPaidAmount: 700 });
    await c.issue(userId, [creditLine(lineOf(first), 900n, rate(0))], {}, { refund: true });
    const { refundDetails } = await s.t.done(listRefunds, { paymentId: first.paymentId, page: 0, count: 10 });
    expect(refundDetails.map(({ refund }) => refund.refundAmount)).toEqual([300]);
    expect(await c.balance(userId, 'main')).toBe(600);
  });
});
