import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelAtPeriodEnd,
  cancelSubscription,
  getSubscriptionConfig,
  invoiceStatus,
  keepAfterPeriodEnd,
  listSubscriptionNotes,
  listSubscriptions,
  listTimelines,
  newSubscriptionNote,
  previewNextInvoice,
  subscriptionDetail,
  subscriptionStatus,
  subscriptionTimelineStatus,
  updateSubscriptionConfig,
  userSubscriptionDetail,
} from '@recur/contracts';
import { boundary } from '@recur/kernel';
import { type World, world } from '../world/subscriptions.js';

const month = { unit: 'month', count: 1 } as const;
let w: World;
beforeAll(async () => {
  w = await world();
});
afterAll(() => w.t.close());

const eventsOf = async () => (await w.types()).map(type => type.split(' ')[0]);

describe('a cancellation', () => {
  it('ends a subscription now, with its reason', async () => {
    const { subscriptionId, userId } = await w.active();
    await w.types();
    await w.t.done(cancelSubscription, { userId, reason: 'Too much' });
    expect(await eventsOf()).toEqual([
      'subscription.cancelled',
      'subscription.track.user.outofsubscribe',
      'operation.logged',
    ]);
    const { subscription } = await w.shown(subscriptionId);
    expect(subscription).toMatchObject({
      status: subscriptionStatus.cancelled,
      cancelReason: 'Too much',
      cancelOrExpireTime: w.clock.now(),
    });
    const again = await w.t.call(cancelSubscription, { subscriptionId });
    expect(again).toMatchObject({ ok: false, slug: 'subscription_wrong_state' });
    const other = await w.create({ userId });
    expect(other.subscription.status).toBe(subscriptionStatus.pending);
  });

  it('of one that is not paid yet cancels its invoice and its payment', async () => {
    const { subscription, invoiceId } = await w.create({ userId: w.newUser() });
    await w.types();
    await w.t.done(cancelSubscription, { subscriptionId: subscription.subscriptionId });
    expect(await eventsOf()).toEqual([
      'subscription.cancelled',
      'payment.cancelled',
      'invoice.cancelled',
      'invoice.created',
      'operation.logged',
    ]);
    expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.cancelled);
  });

  it('at the end of the period can be taken back, and both do nothing twice', async () => {
    const { subscriptionId } = await w.active();
    await w.types();
    for (const operation of [cancelAtPeriodEnd, cancelAtPeriodEnd]) await w.t.done(operation, { subscriptionId });
    const ending = await w.shown(subscriptionId);
    expect(ending).toMatchObject({ subscription: { cancelAtPeriodEnd: 1 }, hasNextInvoice: false });
    expect(await w.t.call(previewNextInvoice, { subscriptionId })).toMatchObject({
      slug: 'subscription_without_next_invoice',
      message: ending.noNextInvoiceReason,
    });
    for (const operation of [keepAfterPeriodEnd, keepAfterPeriodEnd]) await w.t.done(operation, { subscriptionId });
    expect(await eventsOf()).toEqual([
      'subscription.end.of.this.cycle',
      'operation.logged',
      'subscription.resume.end.of.this.cycle',
      'operation.logged',
    ]);
    const kept = { subscription: { cancelAtPeriodEnd: 0 }, hasNextInvoice: true, noNextInvoiceReason: '' };
    expect(await w.shown(subscriptionId)).toMatchObject(kept);
  });

  it.each([cancelSubscription, cancelAtPeriodEnd, keepAfterPeriodEnd])('$name refuses what is not there', async op => {
    expect(await w.t.call(op, { subscriptionId: 'sub_x' })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await w.t.call(op, { userId: w.newUser() })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await w.t.call(op, {})).toMatchObject({ slug: 'invalid_parameters' });
    const { subscription } = await w.create({ userId: w.newUser() });
    const { subscriptionId } = subscription;
    await w.t.done(cancelSubscription, { subscriptionId });
    expect(await w.t.call(op, { subscriptionId })).toMatchObject({ slug: 'subscription_wrong_state' });
  });
});

describe('the next invoice', () => {
  it('is that of the next period, composed for the end of the current one', async () => {
    await w.code('CYCLES', { cycleLimit: 2 });
    const { subscriptionId, billingCycleAnchor, userId, currentPeriodEnd } = await w.active({
      quantity: 2,
      addonParams: [{ addonPlanId: 11, quantity: 1 }],
      discountCode: 'CYCLES',
    });
    const { invoice, subscription } = await w.t.done(previewNextInvoice, { subscriptionId });
    expect(subscription.subscriptionId).toBe(subscriptionId);
    expect(invoice).toMatchObject({
      invoiceId: '',
      invoiceName: 'SubscriptionCycle',
      periodStart: currentPeriodEnd,
      periodEnd: boundary(billingCycleAnchor, 2, month, 'UTC'),
      totalAmount: 5850,
      discountAmount: 650,
    });
    expect(invoice.lines).toHaveLength(2);
    expect((await w.t.done(previewNextInvoice, { userId })).invoice).toEqual(invoice);
  });

  it('is the live one while the first is open', async () => {
    const { subscription, invoiceId } = await w.create({ userId: w.newUser() });
    const { subscriptionId } = subscription;
    expect((await w.t.done(previewNextInvoice, { subscriptionId })).invoice.invoiceId).toBe(invoiceId);
    expect(await w.shown(subscriptionId)).toMatchObject({ hasNextInvoice: true, noNextInvoiceReason: '' });
  });

  it('is none of a subscription that is over, or not there', async () => {
    const { subscriptionId, userId } = await w.active();
    await w.t.done(cancelSubscription, { subscriptionId });
    const slugOf = async (input: object) => (await w.t.call(previewNextInvoice, input)) as { slug?: string };
    expect(await slugOf({ subscriptionId })).toMatchObject({ slug: 'subscription_without_next_invoice' });
    const reason = `Subscription ${subscriptionId} is cancelled: there is no next invoice`;
    expect(await w.shown(subscriptionId)).toMatchObject({ hasNextInvoice: false, noNextInvoiceReason: reason });
    expect(await slugOf({ userId })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await slugOf({ subscriptionId: 'sub_x' })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await slugOf({ externalUserId: 'nobody' })).toMatchObject({ slug: 'user_not_found' });
  });
});

describe('reads', () => {
  it('answer a subscription with what belongs to it', async () => {
    const { subscriptionId, userId, latestInvoiceId } = await w.active({
      addonParams: [{ addonPlanId: 11, quantity: 4 }],
    });
    const detail = await w.t.done(subscriptionDetail, { subscriptionId });
    expect(detail).toMatchObject({
      plan: { id: 10 },
      addonParams: [{ addonPlanId: 11, quantity: 4 }],
      user: { id: userId },
      latestInvoice: { invoiceId: latestInvoiceId },
      unfinishedSubscriptionPendingUpdate: null,
      gateway: { gatewayId: w.gateway.gatewayId },
    });
    expect(await w.t.done(userSubscriptionDetail, { userId })).toEqual(detail);
    expect(await w.t.call(subscriptionDetail, { subscriptionId: 'sub_x' })).toMatchObject({
      slug: 'subscription_not_found',
    });
  });

  it('answer a user without one with null', async () => {
    await w.made({ userId: 1 });
    const none = { subscription: null, hasNextInvoice: false };
    expect(await w.t.done(userSubscriptionDetail, { userId: 1 })).toMatchObject(none);
    expect(await w.t.call(userSubscriptionDetail, { userId: 998 })).toMatchObject({ slug: 'user_not_found' });
  });

  it('list subscriptions by every filter', async () => {
    const email = 'listed@example.com';
    const userId = w.newUser({ email, externalUserId: 'ext-1' });
    const { subscription } = await w.create({ userId, quantity: 9 });
    const { subscriptionId } = subscription;
    const filters = [
      { userId },
      { Email: 'LISTED@example.com' },
      { externalUserId: 'ext-1' },
      { searchKey: subscriptionId },
      { searchKey: email },
      { searchKey: 'ext-1' },
      { searchKey: String(userId) },
      { amountStart: 27_000, status: [1], planIds: [10], productIds: [0], currency: 'eur', userId },
    ];
    for (const filter of filters) {
      const { subscriptions, total } = await w.t.done(listSubscriptions, filter);
      expect([total, subscriptions.map(one => one.subscription.subscriptionId)]).toEqual([1, [subscriptionId]]);
    }
    const none = await w.t.done(listSubscriptions, { userId, status: [2] });
    expect(none).toEqual({ subscriptions: [], total: 0 });
    expect((await w.t.done(listSubscriptions, { count: 2, status: [2, 4] })).subscriptions).toHaveLength(2);
  });

  it('list the periods of a user', async () => {
    const { subscriptionId, userId, currentPeriodStart, latestInvoiceId } = await w.active();
    const { subscriptionTimeLines } = await w.t.done(listTimelines, { userId });
    expect(subscriptionTimeLines).toMatchObject([
      {
        subscriptionId,
        periodStart: currentPeriodStart,
        invoiceId: latestInvoiceId,
        status: subscriptionTimelineStatus.finished,
        uniqueId: `${subscriptionId}_1`,
      },
    ]);
  });

  it('keep notes on a subscription', async () => {
    const { subscriptionId } = await w.active();
    const actor = { kind: 'member', id: '7', display: 'ada@example.com' } as const;
    await w.t.done(newSubscriptionNote, { subscriptionId, note: 'First' });
    await w.t.done(newSubscriptionNote, { subscriptionId, note: 'Second' }, { actor });
    const { noteLists, total } = await w.t.done(listSubscriptionNotes, { subscriptionId });
    expect(total).toBe(2);
    expect(noteLists).toMatchObject([
      { note: 'Second', merchantMember: { id: 7, email: 'ada@example.com' } },
      { note: 'First', merchantMember: null },
    ]);
    const missing = { subscriptionId: 'sub_x', note: 'x' };
    expect(await w.t.call(newSubscriptionNote, missing)).toMatchObject({ slug: 'subscription_not_found' });
    expect(await w.t.call(listSubscriptionNotes, missing)).toMatchObject({ slug: 'subscription_not_found' });
  });
});

it('the config keeps what is not sent', async () => {
  const { config } = await w.t.done(getSubscriptionConfig, {});
  expect(config).toMatchObject({ timeZone: 'UTC', incompleteExpireTime: 86_400, autoChargeRetryInterval: 43_200 });
  const gatewayVATRule = [{ taxPercentage: 500 }];
  const changed = await w.t.done(updateSubscriptionConfig, { usageGraceTime: 60, gatewayVATRule });
  expect(changed.config).toEqual({ ...config, usageGraceTime: 60, gatewayVATRule: expect.stringContaining('500') });
  await w.types();
  await w.t.done(updateSubscriptionConfig, { usageGraceTime: 60 });
  const early = { downgradeNonImmediatelyEffectBeforePeriodEnd: 60 };
  expect(await w.t.call(updateSubscriptionConfig, early)).toMatchObject({
    issues: [{ message: expect.stringContaining('must be 0: a change that is not immediate takes effect at the end') }],
  });
  expect(await w.types()).toEqual([]);
  expect((await w.t.done(getSubscriptionConfig, {})).config).toEqual(changed.config);
});
