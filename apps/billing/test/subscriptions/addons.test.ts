import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  archiveGateway,
  bizType,
  cancelInvoice,
  cancelSubscription,
  type In,
  invoiceStatus,
  listOnetimeAddons,
  newOnetimeAddonPayment,
  newPaymentMethod,
  onetimeAddonStatus,
  planStatus,
  planType,
  type Subscription,
  userUsage,
} from '@recur/contracts';
import { type World, world } from '../world/subscriptions.js';

const DAY = 86_400;
/** Plan 10 with the one-time add-on 12 (9900) bound to it; 13 is one that is not. */
const [SETUP, UNBOUND] = [12, 13];

let w: World;
beforeAll(async () => {
  w = await world();
  const monthly = { intervalUnit: 'month', intervalCount: 1, amount: 3000, type: planType.main };
  w.knowPlan(10, { ...monthly, bindingAddonIds: '11', bindingOnetimeAddonIds: `${SETUP},14,15` });
  const once = { type: planType.onetimeAddon, amount: 9900 };
  w.knowPlan(SETUP, { ...once, planName: 'Onboarding', description: 'Two days on site' });
  w.knowPlan(UNBOUND, once);
  w.knowPlan(14, { ...once, status: planStatus.softArchived });
  w.knowPlan(15, { ...once, currency: 'USD' });
});
afterAll(() => w.t.close());

type Input = Partial<In<typeof newOnetimeAddonPayment>>;
const order = (input: Input) => ({ addonId: SETUP, quantity: 1, ...input });
const sell = ({ subscriptionId }: Subscription, over: Input = {}) =>
  w.t.done(newOnetimeAddonPayment, order({ subscriptionId, ...over }));
const refused = (input: Input) => w.t.call(newOnetimeAddonPayment, order(input));
const eventsOf = async () => (await w.types()).filter(type => type.includes('onetime_addon'));
const statusOf = async ({ userId }: Subscription) =>
  (await w.t.done(listOnetimeAddons, { userId })).subscriptionOnetimeAddons.map(({ status }) => status);

describe('a one-time add-on', () => {
  it('is sold on an invoice of its own, and paid with it', async () => {
    const sub = await w.active();
    await w.types();
    const { invoice, paid, link, subscriptionOnetimeAddon } = await sell(sub, { quantity: 2, metadata: { po: '7' } });
    expect(invoice).toMatchObject({
      invoiceName: 'OneTimeAddonPurchase',
      status: invoiceStatus.processing,
      bizType: bizType.onetime,
      totalAmount: 19_800,
      dayUtilDue: 3,
      subscriptionId: sub.subscriptionId,
      lines: [{ name: 'Onboarding', description: 'Two days on site', quantity: 2, unitAmountExcludingTax: 9900 }],
    });
    expect([paid, link]).toEqual([false, invoice.link]);
    expect(subscriptionOnetimeAddon).toMatchObject({
      subscriptionId: sub.subscriptionId,
      userId: sub.userId,
      status: onetimeAddonStatus.created,
      name: 'Onboarding',
      quantity: 2,
      unitAmount: 9900,
      amount: 19_800,
      currency: 'EUR',
      invoiceId: invoice.invoiceId,
      paymentId: invoice.paymentId,
      bizType: bizType.onetime,
      uniqueId: expect.stringMatching(/^addon_/),
    });
    expect((await w.types()).map(type => type.split(' ')[0])).toEqual([
      'invoice.created',
      'invoice.process',
      'payment.created',
      'subscription.onetime_addon.created',
      'operation.logged',
    ]);
    await w.receive(invoice.invoiceId);
    expect(await eventsOf()).toEqual(['subscription.onetime_addon.success 2']);
    expect(await statusOf(sub)).toEqual([onetimeAddonStatus.paid]);
    expect((await w.shown(sub.subscriptionId)).subscription.latestInvoiceId).toBe(sub.latestInvoiceId);
    const { currentPeriodStart: periodStart, currentPeriodEnd: periodEnd } = sub;
    expect((await w.t.done(userUsage, { userId: sub.userId })).userMetric.onetimeAddons).toMatchObject([
      { addonId: SETUP, addon: { id: SETUP }, quantity: 2, periodStart, periodEnd },
    ]);
  });

  it('is charged to the saved card of the user', async () => {
    const gatewayId = (await w.sandbox()).gatewayId;
    const sub = await w.active();
    await w.t.done(newPaymentMethod, { gatewayId, userId: sub.userId, data: { scenario: 'succeeds' } });
    await sell(sub, { gatewayId });
    await w.drain();
    expect(await statusOf(sub)).toEqual([onetimeAddonStatus.paid]);
  });

  it('expires three days and twenty minutes after its invoice was made', async () => {
    const sub = await w.active();
    await sell(sub);
    w.clock.advance(3 * DAY + 1199);
    await w.drain();
    expect(await statusOf(sub)).toEqual([onetimeAddonStatus.created]);
    await w.types();
    w.clock.advance(1);
    await w.drain();
    expect(await eventsOf()).toEqual(['subscription.onetime_addon.expired 2']);
    expect(await statusOf(sub)).toEqual([onetimeAddonStatus.expired]);
  });

  it('is cancelled with its invoice, or with its subscription', async () => {
    const sub = await w.active();
    const { invoice } = await sell(sub);
    await w.types();
    await w.t.done(cancelInvoice, { invoiceId: invoice.invoiceId });
    expect(await eventsOf()).toEqual(['subscription.onetime_addon.cancelled 2']);
    expect(await w.statusOf(sub.subscriptionId)).toBe(sub.status);
    const second = await sell(sub);
    await w.types();
    await w.t.done(cancelSubscription, { subscriptionId: sub.subscriptionId });
    expect(await eventsOf()).toEqual(['subscription.onetime_addon.cancelled 2']);
    expect((await w.detail(second.invoice.invoiceId)).status).toBe(invoiceStatus.cancelled);
    expect(await statusOf(sub)).toEqual([onetimeAddonStatus.cancelled, onetimeAddonStatus.cancelled]);
  });

  it('is reduced by the terms of its request, and taxed by the percentage of an API key', async () => {
    const sub = await w.active();
    const asKey = { actor: { kind: 'key' as const, id: '1', display: 'sk' } };
    const taxed = await w.t.done(
      newOnetimeAddonPayment,
      order({ subscriptionId: sub.subscriptionId, discountPercentage: 1000, taxPercentage: 2000 }),
      asKey,
    );
    expect(taxed.invoice).toMatchObject({ discountAmount: 990, taxAmount: 1782, totalAmount: 10_692 });
    expect((await sell(sub, { discountAmount: 900 })).invoice.totalAmount).toBe(9000);
    await w.types();
    const free = await sell(sub, { discountAmount: 20_000 });
    expect(free).toMatchObject({ paid: true, invoice: { totalAmount: 0, status: invoiceStatus.paid } });
    expect(free.subscriptionOnetimeAddon).toMatchObject({ status: onetimeAddonStatus.paid, paymentId: '' });
    expect(await eventsOf()).toEqual(['subscription.onetime_addon.created 1', 'subscription.onetime_addon.success 2']);
  });

  it('is credited by no change and no cancellation of its subscription', async () => {
    const sub = await w.active();
    const { invoice } = await sell(sub);
    await w.receive(invoice.invoiceId);
    await w.t.done(cancelSubscription, { subscriptionId: sub.subscriptionId, prorate: true });
    const { lines } = await w.detail(invoice.invoiceId);
    expect(lines).toHaveLength(1);
    const [row] = await w.t.rows('select credited_net from invoice_lines where invoice_id = $1', [invoice.invoiceId]);
    expect(Number(row?.credited_net)).toBe(0);
    expect(await statusOf(sub)).toEqual([onetimeAddonStatus.paid]);
  });
});

describe('a one-time add-on is refused', () => {
  it('to a subscription that is not there, not paid yet, or over', async () => {
    expect(await refused({ subscriptionId: 'sub_x' })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await refused({ userId: w.newUser() })).toMatchObject({ slug: 'subscription_not_found' });
    expect(await refused({})).toMatchObject({ slug: 'invalid_parameters' });
    const { subscription } = await w.create({ userId: w.newUser() });
    const { subscriptionId } = subscription;
    expect(await refused({ subscriptionId })).toMatchObject({ slug: 'subscription_wrong_state' });
    await w.t.done(cancelSubscription, { subscriptionId });
    expect(await refused({ subscriptionId })).toMatchObject({ slug: 'subscription_wrong_state' });
  });

  it('where the add-on is none, not sold, not bound, or has no price in the currency', async () => {
    const { userId } = await w.active();
    const slugOf = async (input: Input) => (await refused({ userId, ...input })) as { slug?: string; issues?: object };
    expect(await slugOf({ addonId: 999 })).toMatchObject({ slug: 'plan_not_found', issues: [{ path: '/addonId' }] });
    expect(await slugOf({ addonId: 14 })).toMatchObject({ slug: 'plan_not_active' });
    for (const addonId of [10, 11, UNBOUND]) {
      expect(await slugOf({ addonId })).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/addonId' }] });
    }
    expect(await slugOf({ addonId: 15 })).toMatchObject({ slug: 'invalid_parameters' });
  });

  it('with terms that cannot be: a code, two discounts, a gateway that cannot collect', async () => {
    const { userId } = await w.active();
    await w.code('ONCE');
    const path = (name: string) => ({ slug: 'invalid_parameters', issues: [{ path: name }] });
    expect(await refused({ userId, discountCode: 'ONCE' })).toMatchObject(path('/discountCode'));
    const both = { discountAmount: 1, discountPercentage: 1 };
    expect(await refused({ userId, ...both })).toMatchObject(path('/discountPercentage'));
    expect(await refused({ userId, gatewayId: 999 })).toMatchObject({ slug: 'gateway_not_found' });
    expect(await refused({ userId, discountAmount: 9850 })).toMatchObject({ slug: 'amount_below_minimum' });
    const { gatewayId } = w.gateway;
    await w.t.done(archiveGateway, { gatewayId });
    expect(await refused({ userId, gatewayId })).toMatchObject({ slug: 'gateway_archived' });
  });
});
