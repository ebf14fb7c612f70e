import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelSubscription,
  changeGateway,
  deletePaymentMethod,
  invoiceStatus,
  newPaymentMethod,
  paymentStatus,
  planType,
  portalMethodSetDefault,
  portalUpdateSubmit,
  renewSubscription,
  submitChange,
  subscriptionStatus,
  type User,
} from '@recur/contracts';
import { blockedBy, ownProcess } from '@recur/platform/testing';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { announceMethod } from '../../src/gateways/chargeable.js';
import { visitor } from '../world/shop.js';
import { type World, world } from '../world/subscriptions.js';

const hour = 3_600;
const day = 24 * hour;

let w: World;
let gatewayId = 0;
let wireId = 0;
beforeAll(async () => {
  w = await world();
  gatewayId = (await w.sandbox()).gatewayId;
  wireId = w.gateway.gatewayId;
  w.knowPlan(20, { intervalUnit: 'month', intervalCount: 1, amount: 6000, type: planType.main });
  w.knowPlan(30, { intervalUnit: 'month', intervalCount: 1, amount: 1000, type: planType.main });
  w.knowPlan(40, { intervalUnit: 'month', intervalCount: 1, amount: 1000, type: planType.main, productId: 40 });
});
afterAll(() => w.t.close());

/** Saves a method whose charges have the outcome of a scenario; returns its id. The first of a user is the default one. */
const method = async (userId: number, scenario: string): Promise<string> =>
  (await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario } })).method?.id ?? '';
const drain = () => w.drain();
const to = async (at: number) => {
  w.clock.advance(at - w.clock.now());
  await drain();
};
/** The methods that the payments of an invoice were charged with, oldest first, and what became of them. */
const chargesOf = async (invoiceId: string) =>
  (
    await w.t.rows('select method_id, status from payments where invoice_id = $1 and attempt > 0 order by id', [
      invoiceId,
    ])
  ).map(({ method_id, status }) => [method_id, status]);
const invoicesOf = async (subscriptionId: string) =>
  (
    await w.t.rows(`select invoice_id from invoices where subscription_id = $1 and kind = 'invoice' order by id`, [
      subscriptionId,
    ])
  ).map(({ invoice_id }) => String(invoice_id));

/** A user whose default card declines, with another one that is good. */
async function twoCards() {
  const userId = w.newUser();
  const bad = await method(userId, 'declines_softly');
  const good = await method(userId, 'succeeds');
  return { userId, bad, good };
}

/** An active subscription of a user with one good card; its period ends at `end`. */
async function active(over: object = {}) {
  const userId = w.newUser();
  const good = await method(userId, 'succeeds');
  const { subscription, invoiceId } = await w.create({ userId, gatewayId, ...over });
  await drain();
  expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.paid);
  const { subscriptionId, currentPeriodEnd: end } = subscription;
  return { userId, good, subscriptionId, invoiceId, end };
}

/** A subscription whose renewal has failed: its period is over, and its open invoice was tried with a card that declines. */
async function incomplete() {
  await w.t.rows('delete from due_work');
  const one = await active();
  const bad = await method(one.userId, 'declines_softly');
  await w.t.done(deletePaymentMethod, { gatewayId, userId: one.userId, paymentMethodId: one.good });
  for (const at of [one.end - 3 * day, one.end - 2 * hour, one.end, one.end + hour]) await to(at);
  expect(await w.statusOf(one.subscriptionId)).toBe(subscriptionStatus.incomplete);
  const { latestInvoiceId } = (await w.shown(one.subscriptionId)).subscription;
  expect(await chargesOf(latestInvoiceId)).toEqual([[bad, 'failed']]);
  return { ...one, bad, invoiceId: latestInvoiceId };
}

describe('the method that is charged', () => {
  it('is that of create_submit rather than the default, and the payment names it', async () => {
    const { userId, good } = await twoCards();
    const { invoiceId, paymentId } = await w.create({ userId, gatewayId, paymentMethodId: good });
    await drain();
    expect(await chargesOf(invoiceId)).toEqual([[good, 'success']]);
    expect(await w.payment(paymentId)).toMatchObject({
      status: paymentStatus.success,
      paymentMethodId: good,
      paymentMethodName: 'Sandbox •••• 4242',
    });
    expect((await w.detail(invoiceId)).PaymentMethodId).toBe(good);
  });

  it('is that of update_submit for a change now, and from then on', async () => {
    const { userId, subscriptionId, good, end } = await active();
    const other = await method(userId, 'calls_back_twice');
    w.clock.advance(day);
    const change = { subscriptionId, newPlanId: 20, quantity: 1, paymentMethodId: other };
    const { invoiceId } = await w.t.done(submitChange, change);
    await drain();
    expect(await chargesOf(invoiceId)).toEqual([[other, 'success']]);
    expect((await w.shown(subscriptionId)).subscription).toMatchObject({ planId: 20, defaultPaymentMethodId: other });
    for (const at of [end - 3 * day, end - 2 * hour]) await to(at);
    expect(await chargesOf((await invoicesOf(subscriptionId)).at(-1) ?? '')).toEqual([[other, 'success']]);
    expect(other).not.toBe(good);
    const unknown = { ...change, newPlanId: 10, paymentMethodId: 'pm_none' };
    expect(await w.t.call(submitChange, unknown)).toMatchObject({ slug: 'payment_method_not_found' });
    const own = { ...unknown, confirmTotalAmount: 0, effectImmediate: undefined };
    const chosen = await w.t.call(portalUpdateSubmit, { ...own, newPlanId: 30 }, visitor(userId));
    expect(chosen).toMatchObject({ slug: 'payment_method_not_found' });
  });

  it('is that of update_submit from the end of the period on, for a change then', async () => {
    const { userId, subscriptionId, end } = await active();
    const other = await method(userId, 'calls_back_twice');
    await w.t.done(submitChange, { subscriptionId, newPlanId: 30, quantity: 1, paymentMethodId: other });
    expect((await w.shown(subscriptionId)).subscription.defaultPaymentMethodId).toBe('');
    for (const at of [end - 3 * day, end - 2 * hour, end]) await to(at);
    expect((await w.shown(subscriptionId)).subscription).toMatchObject({ planId: 30, defaultPaymentMethodId: other });
  });

  it('stays that of the subscription when it is renewed, unless it is gone', async () => {
    const { userId, bad, good } = await twoCards();
    const renewed = async () => {
      const { subscription, invoiceId } = await w.create({ userId, gatewayId, paymentMethodId: good });
      await drain();
      expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.paid);
      await w.t.done(cancelSubscription, { subscriptionId: subscription.subscriptionId });
      const again = await w.t.done(renewSubscription, { subscriptionId: subscription.subscriptionId });
      return again;
    };
    const kept = await renewed();
    await drain();
    expect(await chargesOf(kept.invoiceId)).toEqual([[good, 'success']]);
    await w.t.done(cancelSubscription, { subscriptionId: kept.subscription.subscriptionId });
    await w.t.done(deletePaymentMethod, { gatewayId, userId, paymentMethodId: good });
    const { invoiceId } = await w.t.done(renewSubscription, { subscriptionId: kept.subscription.subscriptionId });
    await drain();
    expect(await chargesOf(invoiceId)).toEqual([[bad, 'failed']]);
  });
});

describe('a method that becomes usable is tried at once on what failed', () => {
  const paidWith = async (invoiceId: string, subscriptionId: string, methods: string[]) => {
    await drain();
    expect((await chargesOf(invoiceId)).map(([id]) => id)).toEqual(methods);
    expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.paid);
    expect(await w.statusOf(subscriptionId)).toBe(subscriptionStatus.active);
  };

  it('a new one', async () => {
    const { userId, subscriptionId, invoiceId, bad } = await incomplete();
    await paidWith(invoiceId, subscriptionId, [bad, await method(userId, 'succeeds')]);
  });

  it('a new one beside others, where the user saved it while the old one was being charged', async () => {
    const { userId, subscriptionId, invoiceId, bad } = await incomplete();
    const slow = await method(userId, 'needs_action');
    await drain();
    const good = await method(userId, 'succeeds');
    await drain();
    expect((await chargesOf(invoiceId)).map(([id]) => id)).toEqual([bad, slow]);
    const [row] = await w.t.rows('select gateway_payment_id as id from payments where method_id = $1', [slow]);
    await w.t.app.get(Sandbox).answer(account(), String(row?.id), false);
    await paidWith(invoiceId, subscriptionId, [bad, slow, good]);
  });

  it('the next one, where the default was deleted', async () => {
    const { userId, subscriptionId, invoiceId, bad } = await incomplete();
    await w.t.rows('delete from due_work');
    const good = await method(userId, 'succeeds');
    await w.t.rows(`delete from due_work where kind = 'payment.method_added'`);
    await w.t.done(deletePaymentMethod, { gatewayId, userId, paymentMethodId: bad });
    await paidWith(invoiceId, subscriptionId, [bad, good]);
  });

  it('another default', async () => {
    const { userId, subscriptionId, invoiceId, bad } = await incomplete();
    const good = await method(userId, 'succeeds');
    await w.t.rows(`delete from due_work where kind = 'payment.method_added'`);
    await w.t.done(portalMethodSetDefault, { gatewayId, paymentMethodId: good }, visitor(userId));
    await paidWith(invoiceId, subscriptionId, [bad, good]);
  });

  it('one that the profile of the user names', async () => {
    const { userId, subscriptionId, invoiceId, bad } = await incomplete();
    const good = await method(userId, 'succeeds');
    await w.t.rows(`delete from due_work where kind = 'payment.method_added'`);
    const [copy] = await w.t.rows('select data, version from user_copies where id = $1', [userId]);
    const { data, version } = copy as { data: User; version: number };
    const tell = (after: number, over: Partial<User>) => {
      const at = { aggregateId: String(userId), version: version + after, at: 0, traceparent: '', requestId: '' };
      const actor = { kind: 'system' as const, id: '', display: '' };
      const type = 'user.updated' as const;
      return w.t.deliver('identity', [
        {
          ...at,
          actor,
          type,
          id: `ev_${userId}_${after}`,
          merchantId: 15,
          aggregate: 'user',
          data: { ...data, ...over },
        },
      ]);
    };
    await tell(1, { paymentMethod: good });
    await paidWith(invoiceId, subscriptionId, [bad, good]);
    // what the profile named all along is not preferred again when something else in it changes
    await w.t.done(portalMethodSetDefault, { gatewayId, paymentMethodId: bad }, visitor(userId));
    await tell(2, { paymentMethod: good, city: 'Wien' });
    const defaults = await w.t.rows('select method_id from payment_methods where user_id = $1 and is_default', [
      userId,
    ]);
    expect(defaults).toEqual([{ method_id: bad }]);
  });

  it('one that change_gateway names, and only on that subscription', async () => {
    const { userId, subscriptionId, invoiceId, bad } = await incomplete();
    const other = await w.create({ userId, gatewayId, planId: 40 });
    await drain();
    const good = await method(userId, 'succeeds');
    await w.t.rows(`delete from due_work where kind = 'payment.method_added'`);
    await w.t.done(changeGateway, { subscriptionId, gatewayId, paymentMethodId: good });
    await paidWith(invoiceId, subscriptionId, [bad, good]);
    expect(await chargesOf(other.invoiceId)).toEqual([[bad, 'failed']]);
  });

  it('the card of another gateway, to which change_gateway moves the open invoice', async () => {
    await w.t.rows('delete from due_work');
    const userId = w.newUser();
    const { subscription, invoiceId: first } = await w.create({ userId, gatewayId: wireId });
    await w.receive(first);
    const { subscriptionId, currentPeriodEnd: end } = subscription;
    for (const at of [end - 3 * day, end, end + hour]) await to(at);
    expect(await w.statusOf(subscriptionId)).toBe(subscriptionStatus.incomplete);
    const { latestInvoiceId: invoiceId } = (await w.shown(subscriptionId)).subscription;
    const link = (await w.detail(invoiceId)).link;
    const good = await method(userId, 'succeeds');
    await w.t.done(changeGateway, { subscriptionId, gatewayId });
    await paidWith(invoiceId, subscriptionId, [good]);
    expect(await w.detail(invoiceId)).toMatchObject({ gatewayId, link });
  });

  it('but not on an invoice that is charged with another one, nor on one whose time is to come', async () => {
    const { userId, bad } = await twoCards();
    const { invoiceId } = await w.create({ userId, gatewayId, paymentMethodId: bad });
    await drain();
    await method(userId, 'succeeds');
    await drain();
    expect(await chargesOf(invoiceId)).toEqual([[bad, 'failed']]);

    const one = await active();
    await to(one.end - 3 * day);
    await method(one.userId, 'succeeds');
    await drain();
    expect(await chargesOf((await invoicesOf(one.subscriptionId)).at(-1) ?? '')).toEqual([]);
  });
});

it('a card that is saved in the same instant as a purchase is made pays for it, without any time passing', async () => {
  await w.t.rows('delete from due_work');
  const buyers = Array.from({ length: 20 }, () => w.newUser());
  const working = { is: true };
  const workers = Array.from({ length: 3 }, async () => {
    while (working.is) await drain();
  });
  const bought = await Promise.all(
    buyers.map(async userId => {
      const [{ invoiceId }] = await Promise.all([w.create({ userId, gatewayId }), method(userId, 'succeeds')]);
      return invoiceId;
    }),
  );
  working.is = false;
  await Promise.all(workers);
  await drain();
  const statuses = await Promise.all(bought.map(async invoiceId => (await w.detail(invoiceId)).status));
  expect(statuses).toEqual(buyers.map(() => invoiceStatus.paid));
});

it('a card that is saved between the look of a claim and its commit is tried too', async () => {
  await w.t.rows('delete from due_work');
  const userId = w.newUser();
  const { invoiceId } = await w.create({ userId, gatewayId });
  const template = await method(w.newUser(), 'succeeds');
  await w.t.rows(`delete from due_work where kind = 'payment.method_added'`);
  const holder = await w.t.owner();
  const { rows: processes } = await holder.query(ownProcess);
  // a claim reads the methods first, and then who the user is at the gateway
  await holder.query('begin; lock table gateway_users in access exclusive mode');
  const claiming = drain();
  let [claim] = await blockedBy(w.t, processes[0].pid);
  while (!claim) [claim] = await blockedBy(w.t, processes[0].pid);
  const methodId = `${template}2`;
  await w.t.rows(
    `insert into payment_methods (merchant_id, method_id, gateway_id, user_id, type, is_default, data, gateway_method_id, create_time)
     select merchant_id, $2, gateway_id, $1, type, true, data, gateway_method_id, create_time
     from payment_methods where method_id = $3`,
    [userId, methodId, template],
  );
  await w.t.db.write(w.t.callerOf(), async tx => {
    announceMethod(tx, { gatewayId, userId, methodId });
    tx.log('User', 'NewPaymentMethod');
    return {};
  });
  const trying = drain();
  const isTold = async () =>
    (await w.t.rows(`select 1 from due_work where kind = 'payment.method_added'`)).length === 0;
  while ((await blockedBy(w.t, claim.pid)).length === 0 && !(await isTold()));
  await holder.query('rollback');
  await holder.end();
  await Promise.all([claiming, trying]);
  await drain();
  expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.paid);
});

const account = () => ({ merchantId: 15, gatewayId, key: '', secret: '', webhookSecret: '' });
