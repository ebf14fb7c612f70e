import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  authorizeStatus,
  cancelInvoice,
  cancelPayment,
  cancelRefund,
  capturePayment,
  clearInvoicePayment,
  creditDetail,
  invoiceStatus,
  listPaymentItems,
  listPaymentTimeline,
  newCreditRecharge,
  newPayment,
  paymentDetail,
  paymentStatus,
  refundDetails,
  refundInvoice,
  refundStatus,
  timelineStatus,
  timelineType,
} from '@recur/contracts';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
});
afterAll(() => c.t.close());
beforeEach(() => c.t.emitted());

const hour = 3_600;
const sold = { totalAmount: 5_000, currency: 'EUR', name: 'Poster' };
const buy = (userId: number, over: object = {}) =>
  c.t.done(newPayment, { userId, gatewayId: c.gatewayId, ...sold, ...over });
const payment = (paymentId: string) => c.payment(paymentId);
const stateAtGateway = async (reference: string) =>
  (await c.t.rows('select state from sandbox_charges where reference = $1', [reference]))[0]?.state;

describe('payment/new', () => {
  it('charges the card of the user for a sale', async () => {
    const { paymentId } = await buy(await c.userWithCard('succeeds'));
    await c.drain();
    expect(await payment(paymentId)).toMatchObject({ status: paymentStatus.success, paymentAmount: 5_000 });
  });

  it('tries an open invoice by hand, and uses up no automatic attempt', async () => {
    const { invoiceId } = await c.charged('declines_hard');
    await c.t.done(newPayment, { invoiceId, gatewayId: c.gatewayId });
    await c.drain();
    expect(await c.paymentsOf(invoiceId)).toMatchObject([
      { status: 'failed', automatic: true },
      { status: 'failed', automatic: false },
    ]);
    expect(await c.t.rows('select attempts from collections where invoice_id = $1', [invoiceId])).toEqual([
      { attempts: 1 },
    ]);
  });

  it('moves an invoice from a wire transfer to a card', async () => {
    const userId = await c.userWithCard('succeeds');
    const { invoiceId } = await c.made({ userId, finish: true });
    await c.t.done(clearInvoicePayment, { invoiceId });
    await c.t.done(newPayment, { invoiceId, gatewayId: c.gatewayId });
    await c.drain();
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid });
  });
});

it('a recharge is charged, and its credit booked', async () => {
  const userId = await c.userWithCard('succeeds');
  const recharge = { userId, gatewayId: c.gatewayId, currency: 'EUR', rechargeAmount: 2_500 };
  const { creditAccount } = await c.t.done(newCreditRecharge, recharge);
  await c.drain();
  const { creditAccount: after } = await c.t.done(creditDetail, { id: creditAccount.id });
  expect(after).toMatchObject({ amount: 2_500 });
});

describe('payment/capture', () => {
  const authorised = async (scenario = 'succeeds') => {
    const { paymentId } = await buy(await c.userWithCard(scenario), { paymentType: 'manual_capture' });
    await c.drain();
    return paymentId;
  };
  const capture = (paymentId: string, externalCaptureId = 'one') =>
    c.t.call(capturePayment, { paymentId, externalCaptureId });

  it('collects what was authorised, once', async () => {
    const paymentId = await authorised();
    const { gatewayPaymentId, ...reserved } = await payment(paymentId);
    expect(reserved).toMatchObject({ status: paymentStatus.created, authorizeStatus: authorizeStatus.authorised });
    expect(await stateAtGateway(gatewayPaymentId)).toBe('authorised');
    expect(await capture(paymentId)).toMatchObject({ ok: true });
    expect(await capture(paymentId)).toMatchObject({ ok: true });
    expect(await capture(paymentId, 'two')).toMatchObject({ slug: 'payment_not_authorised' });
    expect(await payment(paymentId)).toMatchObject({ authorizeStatus: authorizeStatus.captureRequested });
    await c.drain();
    expect(await payment(paymentId)).toMatchObject({ status: paymentStatus.success, gatewayPaymentId });
    expect(await capture(paymentId)).toMatchObject({ ok: true });
  });

  it('refuses what is not authorised, and what is unknown', async () => {
    const { paymentId } = await buy(await c.userWithCard());
    expect(await capture(paymentId)).toMatchObject({ slug: 'payment_not_authorised' });
    await c.t.done(cancelPayment, { paymentId });
    expect(await capture(paymentId)).toMatchObject({ slug: 'payment_not_open' });
    expect(await capture('pay_none')).toMatchObject({ slug: 'payment_not_found' });
  });

  it('is not needed any more once the payment is cancelled: the gateway lets go of the amount', async () => {
    const paymentId = await authorised();
    const { gatewayPaymentId } = await payment(paymentId);
    await c.t.done(cancelPayment, { paymentId });
    await c.drain();
    expect(await stateAtGateway(gatewayPaymentId)).toBe('cancelled');
    expect(await payment(paymentId)).toMatchObject({ status: paymentStatus.cancelled });
  });
});

describe('a payment that ends while its charge is under way', () => {
  const ends = {
    'payment/cancel': (_: string, paymentId: string) => c.t.done(cancelPayment, { paymentId }),
    'invoice/cancel': (invoiceId: string) => c.t.done(cancelInvoice, { invoiceId }),
    'invoice/clearPayment': (invoiceId: string) => c.t.done(clearInvoicePayment, { invoiceId }),
  };

  it.each(Object.entries(ends))('%s: a charge that waits for its user is cancelled at the gateway', async (_, end) => {
    const { invoiceId, invoice } = await c.charged('needs_action');
    await end(invoiceId, invoice.paymentId);
    await c.drain();
    const reference = String(invoice.payment?.gatewayPaymentId);
    expect(await stateAtGateway(reference)).toBe('cancelled');
    expect(await c.sandbox.answer(c.account, reference, true)).toMatchObject({ is: 'cancelled' });
  });

  const refusals = {
    'payment/cancel': (_: string, paymentId: string) => c.t.call(cancelPayment, { paymentId }),
    'invoice/cancel': (invoiceId: string) => c.t.call(cancelInvoice, { invoiceId }),
    'invoice/clearPayment': (invoiceId: string) => c.t.call(clearInvoicePayment, { invoiceId }),
  };

  it.each(Object.entries(refusals))('%s: refused while the charge may have been made', async (_, end) => {
    const { invoiceId, invoice } = await c.charged('times_out_after_charging');
    expect(await end(invoiceId, invoice.paymentId)).toMatchObject({
      slug: 'payment_under_way',
      message: expect.stringContaining(`Payment ${invoice.paymentId} of invoice ${invoiceId} is under way`),
    });
    await c.pass(hour);
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid, surplusAmount: 0 });
  });

  it('a charge that its user approved before the gateway let go of it becomes main credit, once', async () => {
    const { userId, invoiceId, invoice } = await c.charged('needs_action');
    await c.t.done(cancelPayment, { paymentId: invoice.paymentId });
    await c.sandbox.answer(c.account, String(invoice.payment?.gatewayPaymentId), true);
    await c.pass(2 * hour);
    const [row] = await c.t.rows(`select balance from credit_accounts where user_id = $1 and type = 'main'`, [userId]);
    expect(row).toEqual({ balance: '7033' });
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.cancelled, surplusAmount: 7_033 });
    expect(await c.t.rows('select 1 from payment_surpluses where invoice_id = $1', [invoiceId])).toHaveLength(1);
    expect(await c.t.rows(`select outcome from payments where invoice_id = $1`, [invoiceId])).toEqual([
      { outcome: '' },
    ]);
  });

  it('the expiry ends a charge that waits for its user', async () => {
    const { invoiceId, invoice } = await c.charged('needs_action');
    await c.pass(c.term + hour);
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.failed });
    expect(await stateAtGateway(String(invoice.payment?.gatewayPaymentId))).toBe('cancelled');
  });
});

describe('a refund on a card gateway', () => {
  const refund = (invoiceId: string, refundAmount = 2_000) =>
    c.t.done(refundInvoice, { invoiceId, refundAmount, reason: 'Returned' });
  const shown = async (refundId: string) => (await c.t.done(refundDetails, { refundId })).refundDetail.refund;

  it('is made by the gateway, with its credit note', async () => {
    const { invoiceId, invoice } = await c.charged('succeeds');
    const { refundId, status } = (await refund(invoiceId)).refund;
    expect(status).toBe(refundStatus.created);
    await c.drain();
    expect(await shown(refundId)).toMatchObject({
      status: refundStatus.success,
      gatewayRefundId: expect.stringMatching(/^sbr_/),
    });
    const { paymentDetail: detail } = await c.t.done(paymentDetail, { paymentId: invoice.paymentId });
    expect(detail.payment).toMatchObject({ refundAmount: 2_000 });
    const made = await c.t.rows(
      `select amount, state from sandbox_charges where kind = 'refund' and charge_reference = $1`,
      [detail.payment.gatewayPaymentId],
    );
    expect(made).toEqual([{ amount: '2000', state: 'succeeded' }]);
    expect(await c.t.call(cancelRefund, { refundId })).toMatchObject({ slug: 'refund_not_open' });
  });

  it('that the gateway refuses fails, and can be made again', async () => {
    const { invoiceId, invoice } = await c.charged('succeeds');
    await c.t.rows(`update sandbox_charges set state = 'hard' where reference = $1`, [
      invoice.payment?.gatewayPaymentId,
    ]);
    const { refundId } = (await refund(invoiceId)).refund;
    await c.drain();
    expect(await shown(refundId)).toMatchObject({
      status: refundStatus.failed,
      refundCommentExplain: 'charge_not_refundable',
    });
    await c.t.rows(`update sandbox_charges set state = 'succeeded' where reference = $1`, [
      invoice.payment?.gatewayPaymentId,
    ]);
    const again = (await refund(invoiceId, 7_033)).refund;
    await c.drain();
    expect(await shown(again.refundId)).toMatchObject({ status: refundStatus.success });
  });

  it('whose sender was killed is asked for, and made once; it cannot be cancelled meanwhile', async () => {
    const { invoiceId } = await c.charged('succeeds');
    const { refundId } = (await refund(invoiceId)).refund;
    // as a worker leaves it that is killed after the call
    await c.t.rows('update refunds set sent_time = 1 where refund_id = $1', [refundId]);
    const [row] = await c.t.rows('select gateway_payment_id from payments where invoice_id = $1', [invoiceId]);
    const request = { idempotencyKey: refundId, refundId, reference: String(row?.gateway_payment_id), amount: 2_000n };
    await c.sandbox.refund(c.account, { ...request, currency: 'EUR' });
    expect(await c.t.call(cancelRefund, { refundId })).toMatchObject({
      slug: 'refund_not_open',
      message: expect.stringContaining('has been sent'),
    });
    await c.drain();
    expect(await shown(refundId)).toMatchObject({ status: refundStatus.success });
    expect(
      await c.t.rows(`select 1 from sandbox_charges where kind = 'refund' and idempotency_key = $1`, [refundId]),
    ).toHaveLength(1);
  });
});

describe('payment/timeline/list and payment/item/list', () => {
  it('list payments and refunds, newest first, by every filter', async () => {
    const userId = await c.userWithCard('succeeds');
    const { invoiceId, paymentId } = await buy(userId, { totalAmount: 3_000 });
    await c.drain();
    c.clock.advance(10);
    await c.t.done(refundInvoice, { invoiceId, refundAmount: 3_000, reason: '' });
    await c.drain();
    c.clock.advance(10);
    await c.card(userId, 'declines_hard');
    const waiting = await buy(await c.userWithCard(), { totalAmount: 9_000 });
    const list = (over: object) => c.t.done(listPaymentTimeline, over);
    const { paymentTimeLines, total } = await list({ userId });
    expect(total).toBe(2);
    const [refunded, paid] = paymentTimeLines;
    expect(refunded).toMatchObject({
      timelineType: timelineType.refund,
      status: timelineStatus.success,
      totalAmount: 3_000,
      fullRefund: 1,
      payment: { paymentId },
      transactionId: refunded?.refundId,
      externalTransactionId: expect.stringMatching(/^sbr_/),
    });
    expect(paid).toMatchObject({
      timelineType: timelineType.payment,
      status: timelineStatus.success,
      transactionId: paymentId,
      refundId: '',
      autoCharge: true,
      fullRefund: 1,
    });
    expect(Number(refunded?.id)).toBeGreaterThan(Number(paid?.id));
    const found = async (over: object) => (await list(over)).paymentTimeLines.map(({ transactionId }) => transactionId);
    expect(await found({ userId, timelineTypes: [timelineType.payment] })).toEqual([paymentId]);
    expect(await found({ userId, timelineTypes: [9] })).toEqual([]);
    expect(await found({ userId, sortType: 'asc', count: 1 })).toEqual([paymentId]);
    expect(await found({ userId, page: 1, count: 1 })).toEqual([paymentId]);
    expect(await found({ searchKey: waiting.paymentId, status: [timelineStatus.pending] })).toEqual([
      waiting.paymentId,
    ]);
    expect(await found({ searchKey: invoiceId, amountStart: 3_001 })).toEqual([]);
    const newest = await found({
      sortField: 'totalAmount',
      currency: 'eur',
      gatewayIds: [c.gatewayId],
      amountStart: 9_000,
    });
    expect(newest[0]).toBe(waiting.paymentId);
    expect((await list({ page: 400 })).total).toBeGreaterThan(2);
    expect(await list({ createTimeStart: 9_999_999_999 })).toEqual({ paymentTimeLines: [], total: 0 });
    expect(await list({ createTimeEnd: 1 })).toEqual({ paymentTimeLines: [], total: 0 });
  });

  it('list the items of one-time payments', async () => {
    const userId = await c.userWithCard();
    const items = [
      { name: 'Cup', quantity: 2, unitAmountExcludingTax: 500, amount: 0, currency: 'EUR', taxPercentage: 1_000 },
      {
        name: 'Box',
        description: 'Small',
        unitAmountExcludingTax: 100,
        amount: 0,
        currency: 'EUR',
        taxPercentage: 1_000,
      },
    ];
    await c.t.done(newPayment, { userId, gatewayId: c.gatewayId, items });
    const { paymentItems, total } = await c.t.done(listPaymentItems, { userId });
    expect(total).toBe(2);
    expect(paymentItems).toEqual([
      {
        name: 'Cup',
        description: '',
        quantity: 2,
        unitAmountExcludingTax: 500,
        currency: 'EUR',
        amountExcludingTax: 1_000,
        tax: 100,
        taxPercentage: 1_000,
        amount: 1_100,
      },
      expect.objectContaining({ name: 'Box', description: 'Small', amount: 110 }),
    ]);
    expect((await c.t.done(listPaymentItems, { userId, page: 1, count: 1 })).paymentItems).toMatchObject([
      { name: 'Box' },
    ]);
    expect(await c.t.done(listPaymentItems, { userId: 1 })).toEqual({ paymentItems: [], total: 0 });
  });
});
