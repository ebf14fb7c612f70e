import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  capturePayment,
  invoiceDetail,
  invoiceStatus,
  newPayment,
  newPaymentMethod,
  type PaymentReportMismatch,
  paymentStatus,
  refundDetails,
  refundInvoice,
  refundStatus,
} from '@recur/contracts';
import { GatewayEvents } from '../../src/collection/gateway-events.js';
import type { GatewayEvent } from '../../src/gateways/adapters/adapter.js';
import { type StripeShop, stripeShop } from './stripe-shop.js';

let c: StripeShop;
beforeAll(async () => {
  c = await stripeShop();
});
afterAll(() => c.close());
beforeEach(async () => {
  c.says.clear();
  await c.t.emitted();
});

const intent = (paymentId: string, over: object = {}) => ({
  id: `pi_of_${paymentId}`,
  object: 'payment_intent',
  status: 'succeeded',
  amount: 500,
  amount_received: 500,
  currency: 'usd',
  metadata: { recur_key: `${paymentId}-1`, recur_payment: paymentId },
  ...over,
});
/** Delivers a payment intent that has succeeded, with these differences. */
const succeeded = (paymentId: string, over: object = {}) =>
  c.event('payment_intent.succeeded', intent(paymentId, over));
const paid = { status: invoiceStatus.paid, payment: { status: paymentStatus.success } };
const open = { status: invoiceStatus.processing, payment: { status: paymentStatus.created, paymentAmount: 0 } };

/** The mismatches that were told since the last look: those that webhooks deliver, and the log's entries of them. */
async function told() {
  const events = await c.t.emitted();
  const mismatches = events.filter(({ type }) => type === 'payment.report.mismatch');
  const logged = events
    .filter(({ type }) => type === 'operation.logged')
    .map(({ data }) => String((data as { content: string }).content))
    .filter(content => content.startsWith('Report does not match'));
  expect(logged).toHaveLength(mismatches.length);
  return mismatches.map(({ data }) => data as PaymentReportMismatch);
}
const main = async (userId: number) =>
  (await c.t.rows(`select balance from credit_accounts where user_id = $1 and type = 'main'`, [userId]))[0]?.balance;

describe('money that is none of the payment', () => {
  it('1 JPY pays no invoice of 5.00 USD, however rightly it is signed: a person is told once', async () => {
    const { invoiceId, paymentId, userId } = await c.charged();
    expect(await succeeded(paymentId, { amount: 1, amount_received: 1, currency: 'jpy' })).toBe(true);
    expect(await c.detail(invoiceId)).toMatchObject(open);
    expect(await told()).toEqual([
      {
        merchantId: 15,
        paymentId,
        refundId: '',
        invoiceId,
        userId,
        about: 'charge',
        reason: 'currency',
        gatewayId: c.gatewayId,
        reference: `pi_of_${paymentId}`,
        amount: 1,
        currency: 'JPY',
        expectedGatewayId: c.gatewayId,
        expectedAmount: 500,
        expectedCurrency: 'USD',
        updateTime: c.clock.now(),
      },
    ]);
    // the same, as another event and as the same one
    expect(await succeeded(paymentId, { amount: 1, amount_received: 1, currency: 'jpy' })).toBe(true);
    const id = c.newId();
    for (const amount_received of [2, 2]) {
      await c.event('payment_intent.succeeded', intent(paymentId, { amount_received, currency: 'jpy' }), id);
    }
    expect(await told()).toMatchObject([{ amount: 2, currency: 'JPY' }]);
    expect(await succeeded(paymentId)).toBe(true);
    expect(await c.detail(invoiceId)).toMatchObject(paid);
    expect(await told()).toEqual([]);
  });

  it('a report of Stripe pays no wire transfer, nor a payment of another gateway', async () => {
    const wire = await c.made({ gatewayId: c.gateway.gatewayId, finish: true });
    const card = await c.made({ gatewayId: c.other, finish: true });
    for (const { paymentId, invoiceId, totalAmount } of [wire, card]) {
      const money = { amount: totalAmount, amount_received: totalAmount, currency: 'eur' };
      for (const attempt of [0, 1, 2]) {
        expect(await succeeded(paymentId, { ...money, metadata: { recur_key: `${paymentId}-${attempt}` } })).toBe(true);
      }
      expect(await c.detail(invoiceId)).toMatchObject(open);
      expect(await told()).toMatchObject([{ paymentId, reason: 'gateway', gatewayId: c.gatewayId }]);
    }
  });

  it('nor fails them, and nothing is received where nothing was sent or nothing came', async () => {
    const wire = await c.made({ gatewayId: c.gateway.gatewayId, finish: true });
    const failed = { status: 'canceled', metadata: { recur_key: `${wire.paymentId}-0` } };
    expect(await c.event('payment_intent.canceled', intent(wire.paymentId, failed))).toBe(true);
    expect(await c.detail(wire.invoiceId)).toMatchObject(open);
    expect(await told()).toEqual([]);
    const { paymentId, invoiceId } = await c.charged();
    await succeeded(paymentId, { metadata: { recur_key: `${paymentId}-2` } });
    await succeeded(paymentId, { amount_received: 0 });
    await succeeded(paymentId, { amount_received: -500 });
    expect((await told()).map(({ reason }) => reason)).toEqual(['sending', 'amount', 'amount']);
    expect(await c.detail(invoiceId)).toMatchObject(open);
  });

  it('beside a success becomes no main credit', async () => {
    const { paymentId, invoiceId, userId } = await c.charged();
    await succeeded(paymentId);
    await succeeded(paymentId, { id: 'pi_jpy', currency: 'jpy' });
    // the charge that it succeeded with, told again
    await succeeded(paymentId, { currency: 'jpy' });
    expect(await told()).toMatchObject([{ reference: 'pi_jpy', reason: 'currency' }]);
    expect(await c.detail(invoiceId)).toMatchObject({ ...paid, surplusAmount: 0 });
    expect(await main(userId)).toBeUndefined();
  });

  it('in an answer or an inquiry ends its charge: the payment waits for a person, and is not charged again', async () => {
    const yen = { status: 'succeeded', amount_received: 1, currency: 'jpy' };
    c.says.set('charge', yen);
    const answered = await c.charged();
    c.says.delete('charge');
    const asked = await c.charged();
    c.says.set('status', yen);
    for (let hours = 0; hours < 72; hours++) {
      c.clock.advance(3_600);
      await c.drain();
      if (hours > 40) continue;
      for (const { invoiceId } of [answered, asked]) expect(await c.detail(invoiceId)).toMatchObject(open);
    }
    // a card that is saved later is not charged for it either
    for (const { userId } of [answered, asked]) {
      await c.t.done(newPaymentMethod, {
        gatewayId: c.gatewayId,
        userId,
        data: { paymentMethodId: `pm_new_${userId}` },
      });
    }
    await c.drain();
    const ids = [answered.paymentId, asked.paymentId];
    // payments of the tests before are asked for too
    expect((await told()).map(({ paymentId }) => paymentId).filter(id => ids.includes(id))).toEqual(ids);
    for (const { invoiceId } of [answered, asked]) {
      const rows = await c.t.rows('select attempt, outcome from payments where invoice_id = $1', [invoiceId]);
      expect(rows).toEqual([{ attempt: 1, outcome: '' }]);
    }
  });
});

describe('money of the payment, in its currency', () => {
  it.each([1, 100, 499])(
    '%i less than due is a credit note of bank charges, and refundable is what came',
    async less => {
      const { paymentId, invoiceId } = await c.charged();
      const amount_received = 500 - less;
      await succeeded(paymentId, { amount_received });
      const { invoice, creditNotes } = await c.t.done(invoiceDetail, { invoiceId });
      expect(invoice).toMatchObject({ ...paid, payment: { paymentAmount: amount_received } });
      const taxAmount = 0 - Math.round(less / 5);
      expect(creditNotes).toMatchObject([{ invoiceName: 'Bank charges', totalAmount: -less, taxAmount }]);
      const refund = (refundAmount: number) => c.t.call(refundInvoice, { invoiceId, refundAmount, reason: '' });
      expect(await refund(amount_received + 1)).toMatchObject({ slug: 'invalid_parameters' });
      expect(await refund(amount_received)).toMatchObject({ ok: true });
      expect(await told()).toEqual([]);
    },
  );

  it('more than due is a surplus, which goes to main credit', async () => {
    const { paymentId, invoiceId, userId } = await c.charged();
    await succeeded(paymentId, { amount_received: 620 });
    await succeeded(paymentId, { amount_received: 620 });
    expect(await c.detail(invoiceId)).toMatchObject({ ...paid, surplusAmount: 120, payment: { paymentAmount: 500 } });
    expect(await main(userId)).toBe('120');
  });

  it('beside a success is a surplus of what came, not of what was due', async () => {
    const { paymentId, invoiceId, userId } = await c.charged();
    await succeeded(paymentId);
    await succeeded(paymentId, { id: 'pi_more', amount_received: 77 });
    expect(await c.detail(invoiceId)).toMatchObject({ ...paid, surplusAmount: 77 });
    expect(await main(userId)).toBe('77');
  });

  it('is paid out of a capture as the gateway says it', async () => {
    c.says.set('charge', { status: 'requires_capture', amount_capturable: 500, currency: 'usd' });
    const { invoiceId, userId } = await c.charged({ finish: false });
    const { paymentId } = await c.t.done(newPayment, {
      gatewayId: c.gatewayId,
      userId,
      totalAmount: 500,
      currency: 'USD',
      paymentType: 'manual_capture',
      name: 'Poster',
    });
    expect(invoiceId).not.toBe('');
    await c.drain();
    c.says.set('capture', { status: 'succeeded', amount_received: 450, currency: 'usd' });
    await c.t.done(capturePayment, { paymentId, externalCaptureId: 'c-1' });
    await c.drain();
    expect(await c.payment(paymentId)).toMatchObject({ status: paymentStatus.success, paymentAmount: 450 });
  });
});

describe('a reported refund', () => {
  const refunded = async () => {
    const { paymentId, invoiceId } = await c.charged();
    await succeeded(paymentId);
    const { refundId } = (await c.t.done(refundInvoice, { invoiceId, refundAmount: 200, reason: '' })).refund;
    await c.drain();
    await told();
    return { refundId, paymentId };
  };
  const report = (refundId: string, over: object = {}) =>
    c.event('refund.updated', {
      id: `re_of_${refundId}`,
      object: 'refund',
      status: 'succeeded',
      amount: 200,
      currency: 'usd',
      metadata: { recur_key: refundId },
      ...over,
    });
  const statusOf = async (refundId: string) => (await c.t.done(refundDetails, { refundId })).refundDetail.refund.status;

  it('of another amount or currency is none of ours; of its own it has succeeded', async () => {
    const { refundId, paymentId } = await refunded();
    for (const over of [{ amount: 199 }, { amount: 201 }, { currency: 'jpy' }, { amount: 199 }]) {
      expect(await report(refundId, over)).toBe(true);
    }
    expect(await statusOf(refundId)).toBe(refundStatus.created);
    const by = { about: 'refund', refundId, paymentId, expectedAmount: 200 };
    expect(await told()).toMatchObject([
      { ...by, reason: 'amount', amount: 199 },
      { ...by, reason: 'amount', amount: 201 },
      { ...by, reason: 'currency', currency: 'JPY' },
    ]);
    await report(refundId);
    expect(await statusOf(refundId)).toBe(refundStatus.success);
  });

  it('of a transfer, or by another gateway, changes nothing', async () => {
    const { refundId } = await refunded();
    const fact: GatewayEvent = {
      about: 'refund',
      id: c.newId(),
      at: 1,
      idempotencyKey: refundId,
      outcome: { is: 'succeeded', reference: 'sbr_1', amount: 200n, currency: 'USD' },
    };
    const declined: GatewayEvent = {
      about: 'refund',
      id: c.newId(),
      at: 1,
      idempotencyKey: refundId,
      outcome: { is: 'declined', kind: 'hard', reason: 'no', reference: 'sbr_1' },
    };
    for (const reported of [fact, declined]) {
      await c.t.db.write(c.t.callerOf(), async tx => {
        await c.t.app.get(GatewayEvents).apply(tx, c.other, [reported], c.newId(), 1);
        return {};
      });
    }
    expect(await statusOf(refundId)).toBe(refundStatus.created);
    expect(await told()).toMatchObject([{ refundId, reason: 'gateway', gatewayId: c.other }]);
  });
});

it('a chargeback in another currency than the payment is none of it', async () => {
  const { paymentId, invoiceId } = await c.charged();
  await succeeded(paymentId);
  const lost = (over: object) =>
    c.event('charge.dispute.closed', {
      id: 'dp_1',
      status: 'lost',
      payment_intent: `pi_of_${paymentId}`,
      amount: 500,
      currency: 'usd',
      ...over,
    });
  for (const over of [{ currency: 'jpy' }, { amount: 0 }, { currency: 'jpy' }]) expect(await lost(over)).toBe(true);
  expect(await told()).toMatchObject([
    { about: 'dispute', reason: 'currency', currency: 'JPY', expectedAmount: 500 },
    { about: 'dispute', reason: 'amount', amount: 0 },
  ]);
  expect(await c.detail(invoiceId)).toMatchObject(paid);
  await lost({});
  expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.reversed });
});

it('a chargeback in another currency holds refunds up until it is decided, and a person is told', async () => {
  const { paymentId, invoiceId } = await c.charged();
  await succeeded(paymentId);
  const dispute = (type: string, status: string) =>
    c.event(`charge.dispute.${type}`, {
      id: 'dp_2',
      status,
      payment_intent: `pi_of_${paymentId}`,
      amount: 71_000,
      currency: 'jpy',
    });
  const refund = () => c.t.call(refundInvoice, { invoiceId, refundAmount: 500, reason: '' });
  expect(await dispute('created', 'needs_response')).toBe(true);
  expect(await refund()).toMatchObject({ slug: 'payment_disputed' });
  // the log says that refunds are held up
  const events = await c.t.emitted();
  expect(events.filter(({ type }) => type === 'payment.report.mismatch')).toMatchObject([
    { data: { about: 'dispute', reason: 'currency', currency: 'JPY' } },
  ]);
  expect(await dispute('closed', 'won')).toBe(true);
  expect(await refund()).toMatchObject({ ok: true });
});

it('what is paid, in any order of reports, is what the gateway says it received in the currency', async () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 25; round++) {
    const { paymentId, invoiceId, userId } = await c.charged();
    let received = 0;
    const counted = new Set<string>();
    for (let at = 0; at < 5; at++) {
      const amount = [0, 1, 250, 499, 500, 501, 900][random(7)] ?? 0;
      const currency = ['usd', 'usd', 'jpy', 'eur'][random(4)] ?? 'usd';
      const attempt = [1, 1, 1, 0, 2][random(5)];
      const reference = `pi_${round}_${random(3)}`;
      const metadata = { recur_key: `${paymentId}-${attempt}` };
      expect(await succeeded(paymentId, { id: reference, amount_received: amount, currency, metadata })).toBe(true);
      const counts = currency === 'usd' && attempt === 1 && amount > 0 && !counted.has(reference);
      if (!counts) continue;
      counted.add(reference);
      received += amount;
    }
    const { payment, surplusAmount, status } = await c.detail(invoiceId);
    expect((payment?.paymentAmount ?? 0) + surplusAmount).toBe(received);
    expect(Number((await main(userId)) ?? 0)).toBe(surplusAmount);
    expect(status).toBe(received > 0 ? invoiceStatus.paid : invoiceStatus.processing);
  }
});
