import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  archiveGateway,
  type Operation,
  pendingUpdateEffect,
  planStatus,
  planType,
  portalCancelAtPeriodEnd,
  portalChangeDueDay,
  portalCreatePreview,
  portalCreateSubmit,
  portalGatewayList,
  portalNextInvoice,
  portalPendingUpdateCancel,
  portalResume,
  portalSubscriptionDetail,
  portalSubscriptionList,
  portalUpdatePreview,
  portalUpdateSubmit,
  restoreGateway,
  type Slug,
  subscriptionStatus,
  userStatus,
} from '@recur/contracts';
import { visitor } from '../world/shop.js';
import { plans, roundPrices, world } from '../world/subscriptions.js';

let w: Awaited<ReturnType<typeof world>>;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

let last = 5000;
/** A user who is known, as the caller of the pages. */
function newVisitor(over: object = {}) {
  last += 1;
  w.knowUser(last, over);
  return { userId: last, as: visitor(last) };
}
/** A subscription that its user has bought and paid. */
async function bought(planId: number = plans.small) {
  const { userId, as } = newVisitor();
  const { totalAmount } = await w.t.done(portalCreatePreview, { planId }, as);
  const made = await w.t.done(portalCreateSubmit, { planId, confirmTotalAmount: totalAmount }, as);
  await w.receive(made.invoiceId);
  return { userId, as, subscriptionId: made.subscription.subscriptionId };
}
const total = (amounts: readonly { amount: number }[]) => amounts.reduce((sum, { amount }) => sum + amount, 0);
const refused = async (operation: Operation, input: object, slug: Slug, as = visitor(1)) =>
  expect(await w.t.call(operation, input, as)).toMatchObject({ ok: false, slug });

describe('a checkout', () => {
  it('quotes what it then bills, with the reason of each amount', async () => {
    const { userId, as } = newVisitor({ countryCode: 'DE' });
    const input = { planId: plans.small, quantity: 2, addonParams: [{ addonPlanId: plans.addon, quantity: 1 }] };
    const quoted = await w.t.done(portalCreatePreview, input, as);
    expect(quoted).toMatchObject({ currency: 'EUR', quantity: 2, plan: { id: plans.small } });
    expect(quoted.taxReason).not.toBe('');
    expect(quoted.explanation.lines).toHaveLength(quoted.invoice.lines.length);
    expect(total(quoted.explanation.lines)).toBe(quoted.totalAmount);
    expect(quoted.explanation.totals.at(-1)?.amount).toBe(quoted.totalAmount);
    await w.t.emitted();
    const confirmed = { ...input, confirmTotalAmount: quoted.totalAmount, confirmCurrency: 'EUR' };
    const made = await w.t.done(portalCreateSubmit, confirmed, { ...as, idempotencyKey: 'one' });
    expect(made.subscription).toMatchObject({ status: subscriptionStatus.pending, planId: plans.small, quantity: 2 });
    const logged = (await w.t.emitted()).find(({ type }) => type === 'operation.logged');
    expect(logged?.data).toMatchObject({ actor: { kind: 'user', id: String(userId) } });
    // a double click
    expect(await w.t.done(portalCreateSubmit, confirmed, { ...as, idempotencyKey: 'one' })).toEqual(made);
    const { invoice } = await w.t.done(portalNextInvoice, made.subscription, as);
    expect(invoice).toMatchObject({ invoiceId: made.invoiceId, totalAmount: quoted.totalAmount, link: made.link });
    await w.receive(made.invoiceId);
    const { subscription } = await w.t.done(portalSubscriptionDetail, made.subscription, as);
    expect(subscription.status).toBe(subscriptionStatus.active);
  });

  it('lets nobody decide what only a merchant does: price, tax, trial, or whose subscription it is', async () => {
    const { userId, as } = newVisitor();
    const mine = { planId: plans.small };
    const bold = {
      userId: 1,
      email: 'user1@example.com',
      taxPercentage: 1,
      trialEnd: w.clock.now() + 86_400,
      freeInInitialPeriod: true,
      discount: { discountPercentage: 10_000 },
      startIncomplete: true,
      productData: { name: 'Free' },
      metadata: { vip: true },
    };
    const [plain, boldly] = [
      await w.t.done(portalCreatePreview, mine, as),
      await w.t.done(portalCreatePreview, { ...mine, ...bold }, as),
    ];
    expect(boldly).toEqual(plain);
    const submit = { ...mine, ...bold, confirmTotalAmount: plain.totalAmount };
    const { subscription } = await w.t.done(portalCreateSubmit, submit, as);
    expect(await w.row(subscription.subscriptionId)).toMatchObject({ user_id: String(userId), status: 'pending' });
  });

  it('lists the gateways by which one can pay, without what the merchant keeps for itself', async () => {
    const gateway = await w.sandbox({ metadata: { margin: 'secret' } });
    const list = async () => (await w.t.done(portalGatewayList, {}, visitor(1))).gateways;
    const [wire, card] = await list();
    expect([wire?.autoChargeEnabled, card?.autoChargeEnabled]).toEqual([false, true]);
    expect(Object.keys(wire ?? {})).not.toEqual(expect.arrayContaining(['bank']));
    expect(JSON.stringify(await list())).not.toMatch(/secret|webhook|metadata/i);
    await w.t.done(archiveGateway, { gatewayId: gateway.gatewayId });
    expect((await list()).map(({ gatewayName }) => gatewayName)).toEqual(['wire_transfer']);
  });

  it('is refused as the merchant would be', async () => {
    w.knowPlan(70, { status: planStatus.softArchived });
    const { as: suspended } = newVisitor({ status: userStatus.suspended });
    const both = async (over: object, slug: Slug, as = visitor(1)) => {
      const input = { planId: plans.small, confirmTotalAmount: 0, ...over };
      await refused(portalCreatePreview, input, slug, as);
      await refused(portalCreateSubmit, input, slug, as);
    };
    await both({}, 'user_not_found', visitor(4999));
    await both({}, 'user_inactive', suspended);
    await both({ planId: 999 }, 'plan_not_found');
    await both({ planId: 70 }, 'plan_not_active');
    await both({ gatewayId: 999 }, 'gateway_not_found');
    const { gatewayId } = w.gateway;
    await w.t.done(archiveGateway, { gatewayId });
    await both({ gatewayId }, 'gateway_archived');
    await w.t.done(restoreGateway, { gatewayId });
    const { as } = newVisitor();
    const submit = { planId: plans.small, gatewayId, confirmTotalAmount: 1 };
    await refused(portalCreateSubmit, submit, 'total_changed', as);
    const { totalAmount } = await w.t.done(portalCreatePreview, { planId: plans.small }, as);
    const fair = { ...submit, confirmTotalAmount: totalAmount };
    await refused(portalCreateSubmit, { ...fair, paymentMethodId: 'pm_x' }, 'payment_method_not_found', as);
    w.knowPlan(71, { type: planType.main, amount: 50, intervalUnit: 'month', intervalCount: 1 });
    const { totalAmount: small } = await w.t.done(portalCreatePreview, { planId: 71 }, as);
    const tiny = { ...submit, planId: 71, confirmTotalAmount: small };
    await refused(portalCreateSubmit, tiny, 'amount_below_minimum', as);
    const owner = await bought();
    await refused(portalCreateSubmit, fair, 'subscription_exists', owner.as);
  });
});

describe('a change', () => {
  it('is quoted line by line, and billed to the cent', async () => {
    const { as, subscriptionId } = await bought();
    w.clock.advance(10 * 86_400);
    const change = { subscriptionId, newPlanId: plans.large, quantity: 1 };
    const quoted = await w.t.done(portalUpdatePreview, change, as);
    expect(quoted).toMatchObject({ effectImmediate: pendingUpdateEffect.now, effectTime: quoted.prorationDate });
    expect(quoted.explanation.lines).toHaveLength(quoted.invoice.lines.length);
    expect(quoted.explanation.lines.every(({ text, formula }) => text !== '' && formula !== '')).toBe(true);
    expect(total(quoted.explanation.lines)).toBe(quoted.totalAmount);
    w.clock.advance(60);
    const { prorationDate, totalAmount } = quoted;
    const confirmed = { ...change, prorationDate, confirmTotalAmount: totalAmount };
    const made = await w.t.done(portalUpdateSubmit, confirmed, as);
    expect(made).toMatchObject({ paid: false, subscriptionPendingUpdate: { updatePlanId: plans.large } });
    expect((await w.detail(made.invoiceId)).totalAmount).toBe(totalAmount);
    await w.receive(made.invoiceId);
    const { subscription } = await w.t.done(portalSubscriptionDetail, { subscriptionId }, as);
    expect(subscription).toMatchObject({ planId: plans.large, pendingUpdateId: '' });
  });

  it('to less comes at the end of the period, and can be taken back until then', async () => {
    const { as, subscriptionId } = await bought(plans.large);
    const change = { subscriptionId, newPlanId: plans.small, quantity: 1 };
    const quoted = await w.t.done(portalUpdatePreview, change, as);
    const detail = () => w.t.done(portalSubscriptionDetail, { subscriptionId }, as);
    const { subscription } = await detail();
    expect(quoted).toMatchObject({
      effectImmediate: pendingUpdateEffect.periodEnd,
      effectTime: subscription.currentPeriodEnd,
      totalAmount: 0,
    });
    expect(quoted.nextPeriodInvoice?.lines[0]).toMatchObject({ unitAmountExcludingTax: 10_000 });
    await w.t.done(portalUpdateSubmit, { ...change, confirmTotalAmount: 0 }, as);
    expect((await detail()).unfinishedSubscriptionPendingUpdate).toMatchObject({ updatePlanId: plans.small });
    await w.t.emitted();
    await w.t.done(portalPendingUpdateCancel, { subscriptionId }, as);
    expect((await w.t.emitted()).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['subscription.pending_update.cancelled', 'operation.logged']),
    );
    expect((await detail()).unfinishedSubscriptionPendingUpdate).toBeNull();
    await w.t.done(portalPendingUpdateCancel, { subscriptionId }, as);
    expect(await w.t.emitted()).toEqual([]);
  });

  it('is refused as the merchant would be', async () => {
    const { as, subscriptionId } = await bought();
    const both = async (over: object, slug: Slug) => {
      const input = { subscriptionId, newPlanId: plans.large, quantity: 1, confirmTotalAmount: 0, ...over };
      await refused(portalUpdatePreview, input, slug, as);
      await refused(portalUpdateSubmit, input, slug, as);
    };
    w.knowPlan(72, { status: planStatus.softArchived });
    const { gateways } = { gateways: await w.t.rows('select gateway_id from gateways where archived') };
    await both({ newPlanId: 999 }, 'plan_not_found');
    await both({ newPlanId: 72 }, 'plan_not_active');
    await both({ gatewayId: 999 }, 'gateway_not_found');
    await both({ gatewayId: Number(gateways[0]?.gateway_id) }, 'gateway_archived');
    const change = { subscriptionId, newPlanId: plans.large, quantity: 1 };
    await refused(portalUpdateSubmit, { ...change, confirmTotalAmount: 1 }, 'total_changed', as);
    await w.t.done(portalCancelAtPeriodEnd, { subscriptionId }, as);
    w.clock.advance(40 * 86_400);
    await w.drain();
    await both({}, 'subscription_wrong_state');
    for (const operation of [portalCancelAtPeriodEnd, portalResume, portalChangeDueDay]) {
      await refused(operation, { subscriptionId, dueDay: 3 }, 'subscription_wrong_state', as);
    }
    await refused(portalNextInvoice, { subscriptionId }, 'subscription_without_next_invoice', as);
  });

  it('of what is not yet paid may not come to less than the gateway collects', async () => {
    const { userId, as } = newVisitor();
    const { subscription } = await w.create({ userId, startIncomplete: true });
    w.knowPlan(73, { amount: 50, type: planType.main, intervalUnit: 'month', intervalCount: 1 });
    const change = { subscriptionId: subscription.subscriptionId, newPlanId: 73, quantity: 1 };
    const { totalAmount } = await w.t.done(portalUpdatePreview, change, as);
    await refused(portalUpdateSubmit, { ...change, confirmTotalAmount: totalAmount }, 'amount_below_minimum', as);
  });
});

describe('a running subscription', () => {
  it('ends with its period when its user says so, unless that is taken back', async () => {
    const { as, subscriptionId } = await bought();
    const ends = async () =>
      (await w.t.done(portalSubscriptionDetail, { subscriptionId }, as)).subscription.cancelAtPeriodEnd;
    await w.t.done(portalCancelAtPeriodEnd, { subscriptionId }, as);
    expect(await ends()).toBe(1);
    await w.t.done(portalResume, { subscriptionId }, as);
    expect(await ends()).toBe(0);
  });

  it('gets another due day', async () => {
    const { as, subscriptionId } = await bought();
    const { invoice } = await w.t.done(portalChangeDueDay, { subscriptionId, dueDay: 28 }, as);
    expect(invoice?.periodStart).toBeGreaterThan(0);
  });
});

describe("another's subscription", () => {
  it('is as unknown as one that does not exist, to a user of the same merchant and of another, and stays as it is', async () => {
    const { subscriptionId, as } = await bought();
    const { as: other } = newVisitor();
    const stranger = visitor(Number(as.actor?.id), 16);
    const change = { newPlanId: plans.large, quantity: 1, confirmTotalAmount: 0 };
    const asked: readonly (readonly [Operation, object])[] = [
      [portalSubscriptionDetail, {}],
      [portalNextInvoice, {}],
      [portalUpdatePreview, change],
      [portalUpdateSubmit, change],
      [portalPendingUpdateCancel, {}],
      [portalCancelAtPeriodEnd, {}],
      [portalResume, {}],
      [portalChangeDueDay, { dueDay: 3 }],
    ];
    const before = await w.everything();
    for (const [operation, input] of asked) {
      for (const caller of [other, stranger]) {
        const theirs = await w.t.call(operation, { ...input, subscriptionId }, caller);
        const unknown = await w.t.call(operation, { ...input, subscriptionId: 'sub_none' }, caller);
        expect([operation.name, theirs]).toEqual([operation.name, unknown]);
        expect(theirs).toMatchObject({ slug: 'subscription_not_found' });
      }
      // an API key that calls the service past the gateway is no user
      expect(await w.t.call(operation, { ...input, subscriptionId })).toMatchObject({ slug: 'permission_denied' });
    }
    for (const caller of [other, stranger]) {
      expect(await w.t.done(portalSubscriptionList, {}, caller)).toEqual({ subscriptions: [], total: 0 });
    }
    expect(await w.everything()).toEqual(before);
    const own = await w.t.done(portalSubscriptionList, {}, as);
    expect(own.subscriptions.map(({ subscription }) => subscription.subscriptionId)).toEqual([subscriptionId]);
  });
});
