import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelAtPeriodEnd,
  cancelSubscription,
  invoiceStatus,
  markWireTransferSuccess,
  pendingUpdateStatus,
  type Subscription,
} from '@recur/contracts';
import { plans, roundPrices, type World, world } from '../../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

const cancel = ({ subscriptionId }: Subscription, over: object = {}) =>
  w.t.done(cancelSubscription, { subscriptionId, ...over });
const notesOf = async ({ subscriptionId }: Subscription) =>
  (await w.creditNotes()).filter(note => note.subscriptionId === subscriptionId);

describe('a cancellation', () => {
  it('with prorate credits the unused time, once', async () => {
    const sub = await w.active();
    await w.at(sub, 0.6);
    await w.types();
    await cancel(sub, { prorate: true });
    expect(await w.types()).toEqual([
      'subscription.cancelled 3',
      'subscription.track.user.outofsubscribe 4',
      'invoice.updated 4',
      'credit.account.updated 1',
      'invoice.created 1',
      'operation.logged 1',
    ]);
    const [note] = await notesOf(sub);
    expect(note).toMatchObject({ totalAmount: -4000, status: invoiceStatus.paid, invoiceName: 'SubscriptionCancel' });
    expect(note?.originalPaymentInvoice?.invoiceId).toBe(sub.latestInvoiceId);
    expect(await w.balance(sub.userId)).toBe(4000);
    const again = await w.t.call(cancelSubscription, { subscriptionId: sub.subscriptionId, prorate: true });
    expect(again).toMatchObject({ slug: 'subscription_wrong_state' });
    expect(await w.balance(sub.userId)).toBe(4000);
  });

  it('without prorate credits nothing', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    await cancel(sub);
    expect(await notesOf(sub)).toEqual([]);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ status: 'cancelled' });
  });

  it('cancels an unfinished change, whose credit is free for it again', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const { invoiceId, subscriptionPendingUpdate } = await w.change(sub, {});
    await cancel(sub, { prorate: true });
    expect(await w.detail(invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
    expect(await w.update(subscriptionPendingUpdate?.pendingUpdateId ?? '')).toMatchObject({
      status: pendingUpdateStatus.cancelled,
    });
    expect(await w.balance(sub.userId)).toBe(5000);
    const paid = await w.t.call(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1' });
    expect(paid).toMatchObject({ slug: 'invoice_not_open' });
  });

  it('after an upgrade credits what the upgrade charged', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    await w.receive((await w.change(sub, {})).invoiceId);
    await w.at(sub, 0.75);
    await cancel(sub, { prorate: true, invoiceNow: true });
    expect((await notesOf(sub)).map(({ totalAmount }) => totalAmount)).toEqual([-5000]);
  });
});

describe('a cancellation at the end of the period', () => {
  const later = ({ subscriptionId }: Subscription) => w.t.done(cancelAtPeriodEnd, { subscriptionId });

  it('cancels a deferred change, and leaves one that waits for its payment', async () => {
    const sub = await w.active({ planId: plans.large });
    const { subscriptionPendingUpdate: deferred } = await w.change(sub, { newPlanId: plans.small });
    await later(sub);
    expect(await w.update(deferred?.pendingUpdateId ?? '')).toMatchObject({ status: pendingUpdateStatus.cancelled });
    expect(await w.row(sub.subscriptionId)).toMatchObject({ cancel_at_period_end: true, pending_update_id: '' });

    const other = await w.active();
    await w.at(other, 0.5);
    const { subscriptionPendingUpdate: waiting } = await w.change(other, {});
    await later(other);
    expect(await w.update(waiting?.pendingUpdateId ?? '')).toMatchObject({ status: pendingUpdateStatus.pending });
  });
});

it('a credit that is to be refunded opens a refund of the invoice that it credits, instead of main credit', async () => {
  const sub = await w.active();
  await w.at(sub, 0.5);
  await w.types();
  await cancel(sub, { prorate: true, refund: true });
  expect(await w.types()).toContain('refund.created 1');
  expect(await w.balance(sub.userId)).toBe(0);
});
