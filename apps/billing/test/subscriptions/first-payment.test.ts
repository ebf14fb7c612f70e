import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelSubscription,
  capturePayment,
  changeGateway,
  clearInvoicePayment,
  createSubscription,
  invoiceStatus,
  newPaymentMethod,
  subscriptionStatus,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { ChargeSettlement } from '../../src/collection/settlement.js';
import { WireTransfers } from '../../src/collection/wire-transfers.js';
import { announceMethod } from '../../src/gateways/chargeable.js';
import { InvoiceOutcomes } from '../../src/invoices/outcomes.js';
import { Disputes } from '../../src/refunds/disputes.js';
import { type World, world } from '../world/subscriptions.js';

const DAY = 86_400;
const { pending, active, processing, failed, cancelled } = subscriptionStatus;

let w: World;
let gatewayId = 0;
beforeAll(async () => {
  w = await world();
  gatewayId = (await w.sandbox()).gatewayId;
});
afterAll(() => w.t.close());

/** A subscription of a new user whose card has the outcome of a scenario, after the first attempt. */
async function charged(scenario: string) {
  const userId = w.newUser();
  await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario } });
  const { subscription, invoiceId, paymentId } = await w.create({ userId, gatewayId });
  await w.drain();
  return { ...subscription, invoiceId, paymentId };
}
const locked = (invoiceId: string, run: (tx: never, invoice: never) => unknown) =>
  w.t.db.write(w.t.callerOf(), async tx => {
    const invoice = await w.t.app.get(InvoiceOutcomes).lock(tx, { invoiceId }, 'invoice_not_found');
    await run(tx as never, invoice as never);
    return {};
  });
const sent = (invoiceId: string) =>
  locked(invoiceId, (tx, invoice) => w.t.app.get(WireTransfers).markSent(tx, invoice));
const authorised = (reference: string) => ({ is: 'authorised', reference, amount: 1_200n, currency: 'EUR' });
const reported = (paymentId: string, outcome: object) =>
  w.t.db.write(w.t.callerOf(), async tx => {
    await w.t.app.get(ChargeSettlement).report(tx, {
      paymentId,
      attempt: 1,
      gatewayId,
      by: 'callback',
      outcome: outcome as never,
    });
    return {};
  });
const updates = async () => (await w.types()).filter(type => type.startsWith('subscription.'));

describe('a first payment whose outcome is awaited', () => {
  it('leaves the subscription processing: then active, or pending again', async () => {
    const lost = await charged('times_out_after_charging');
    expect(await w.statusOf(lost.subscriptionId)).toBe(processing);
    expect(await w.t.call(createSubscription, { planId: 10, userId: lost.userId })).toMatchObject({
      slug: 'subscription_exists',
    });
    w.clock.advance(120);
    await w.drain();
    expect(await w.statusOf(lost.subscriptionId)).toBe(active);

    const never = await charged('calls_back_late');
    expect(await w.statusOf(never.subscriptionId)).toBe(processing);
    await w.types();
    await reported(never.paymentId, { is: 'declined', kind: 'soft', reason: 'no', reference: '' });
    expect(await updates()).toEqual(['subscription.updated 3']);
    expect(await w.statusOf(never.subscriptionId)).toBe(pending);
  });

  it('is so while an amount is authorised, until its payment is cleared', async () => {
    const { subscriptionId, paymentId, invoiceId } = await charged('calls_back_late');
    await reported(paymentId, authorised('ch_1'));
    expect(await w.statusOf(subscriptionId)).toBe(processing);
    expect(await w.statusOf(subscriptionId)).toBe(processing);
    await w.t.done(clearInvoicePayment, { invoiceId });
    expect(await w.statusOf(subscriptionId)).toBe(pending);
  });

  it('is not cleared once its capture was asked for', async () => {
    const { subscriptionId, paymentId, invoiceId } = await charged('calls_back_late');
    await reported(paymentId, authorised('ch_2'));
    await w.t.done(capturePayment, { paymentId, externalCaptureId: 'c-2' });
    expect(await w.t.call(clearInvoicePayment, { invoiceId })).toMatchObject({ slug: 'payment_under_way' });
    expect(await w.statusOf(subscriptionId)).toBe(processing);
  });

  it('ends with the deadline: the subscription has failed', async () => {
    const { subscription, invoiceId } = await w.create({ userId: w.newUser() });
    await sent(invoiceId);
    w.clock.advance(3 * DAY);
    await w.drain();
    expect(await w.statusOf(subscription.subscriptionId)).toBe(failed);
    expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.failed);
  });

  it('can be cancelled where its amount is only authorised, and not while it may be taken', async () => {
    const { subscriptionId, paymentId, invoiceId } = await charged('calls_back_late');
    expect(await w.t.call(cancelSubscription, { subscriptionId })).toMatchObject({
      slug: 'payment_under_way',
      message: `Payment ${paymentId} of invoice ${invoiceId} is under way: wait for its outcome, and try again`,
    });
    await reported(paymentId, authorised('ch_3'));
    await w.t.done(cancelSubscription, { subscriptionId });
    expect(await w.statusOf(subscriptionId)).toBe(cancelled);
  });
});

describe('a transfer that the user has sent', () => {
  it('makes a pending subscription processing, once; received, it is active', async () => {
    const { subscription, invoiceId } = await w.create({ userId: w.newUser() });
    await w.types();
    await sent(invoiceId);
    expect(await w.types()).toEqual(['subscription.updated 2', expect.stringContaining('operation.logged')]);
    await sent(invoiceId);
    expect(await updates()).toEqual([]);
    expect(await w.statusOf(subscription.subscriptionId)).toBe(processing);
    await w.receive(invoiceId);
    expect(await w.statusOf(subscription.subscriptionId)).toBe(active);
  });

  it('is refused for what is not open, or is paid otherwise', async () => {
    const { invoiceId } = await charged('succeeds');
    await expect(sent(invoiceId)).rejects.toThrow(Rejected);
    const cleared = (await w.create({ userId: w.newUser() })).invoiceId;
    await w.t.done(clearInvoicePayment, { invoiceId: cleared });
    await expect(sent(cleared)).rejects.toMatchObject({ slug: 'invoice_without_payment' });
    const waiting = await charged('needs_action');
    await expect(sent(waiting.invoiceId)).rejects.toMatchObject({ slug: 'gateway_not_wire_transfer' });
  });
});

describe('the payment method of a subscription', () => {
  it('is charged before those of its user; another that change_gateway names is tried at once', async () => {
    const userId = w.newUser();
    const method = async (scenario: string) =>
      (await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario } })).method?.id ?? '';
    const bad = await method('declines_hard');
    const good = await method('succeeds');
    const { subscription, invoiceId } = await w.create({ userId, gatewayId, paymentMethodId: bad });
    await w.drain();
    expect(await w.statusOf(subscription.subscriptionId)).toBe(pending);
    // told of after the decline, in the same second, a method that was there before the invoice is no new one
    await w.t.db.write(w.t.callerOf(), async tx => {
      announceMethod(tx, { gatewayId, userId, methodId: good });
      tx.log('PaymentMethod', 'Test');
      return {};
    });
    await w.drain();
    expect(await w.statusOf(subscription.subscriptionId)).toBe(pending);
    w.clock.advance(60);
    await w.t.done(changeGateway, { subscriptionId: subscription.subscriptionId, gatewayId, paymentMethodId: good });
    await w.drain();
    expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.paid);
    expect(await w.statusOf(subscription.subscriptionId)).toBe(active);
  });

  it('moves with its gateway: the next invoice is collected by the new one', async () => {
    const sub = await w.active();
    await w.t.done(newPaymentMethod, { gatewayId, userId: sub.userId, data: { scenario: 'succeeds' } });
    await w.t.done(changeGateway, { subscriptionId: sub.subscriptionId, gatewayId, paymentMethodId: '' });
    w.clock.advance(sub.currentPeriodEnd - w.clock.now());
    await w.drain();
    const { subscription } = await w.shown(sub.subscriptionId);
    expect(subscription).toMatchObject({ status: active, currentPeriodStart: sub.currentPeriodEnd, gatewayId });
  });
});

it('a chargeback of a first invoice ends the subscription', async () => {
  const sub = await charged('succeeds');
  await locked(sub.invoiceId, (tx, invoice) => w.t.app.get(Disputes).lost(tx, invoice, 3000n));
  const { subscription } = await w.shown(sub.subscriptionId);
  expect(subscription).toMatchObject({ status: cancelled, cancelReason: 'Its payment was charged back' });
});
