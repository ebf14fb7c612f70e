import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, createClient, type Input, orThrow } from '@recur/client';
import { aggregationType, invoiceStatus, metricType, subscriptionStatus } from '@recur/contracts';
import { timeOf } from '../../../simulate/clock.js';
import { sandboxGateway } from '../../card.js';
import { newPlan } from '../../shop.js';
import { type Stand, sharedStand, times, until } from '../stand.js';

let stand: Stand;
let seller: Awaited<ReturnType<Stand['shop']>>;
let api: Client;
let gatewayId: number;
let plans: Readonly<Record<'free' | 'small' | 'large' | 'trial', number>>;
const code = randomUUID();

beforeAll(async () => {
  stand = await sharedStand();
  seller = await stand.shop('Attach');
  ({ api } = seller);
  gatewayId = await sandboxGateway(api);
  const sold = async (more: Partial<Input<'/merchant/plan/new'>>) => {
    const planId = await newPlan(api, more);
    orThrow(await api.post('/merchant/plan/activate', { planId }));
    return planId;
  };
  const trial = { amount: 1_000, trialDurationTime: 864_000 };
  plans = {
    free: await sold({ amount: 0 }),
    small: await sold({ amount: 1_000, externalPlanId: code }),
    large: await sold({ amount: 3_000 }),
    trial: await sold({ ...trial, trialDemand: 'paymentMethod' }),
  };
});

const person = () => ({ email: `${randomUUID()}@example.com`, externalUserId: randomUUID() });
const save = (userId: number, scenario: string) =>
  api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario } }).then(orThrow);

/** A user with a saved card. */
async function cardholder(scenario = 'succeeds'): Promise<number> {
  const { user } = orThrow(await api.post('/merchant/user/new', person()));
  await save(user.id, scenario);
  return user.id;
}
const detailOf = async (userId: number) =>
  orThrow(await api.get('/merchant/subscription/user_subscription_detail', { userId }));
const subscriptionsOf = async (userId: number) =>
  orThrow(await api.get('/merchant/subscription/list', { userId })).subscriptions;
const invoicesOf = async (userId: number) => orThrow(await api.get('/merchant/invoice/list', { userId })).invoices;
const done = { is: 'done', subscriptionId: expect.stringMatching(/^sub_/), effectTime: 0 };
const invoicePage = { is: 'page', url: expect.stringContaining('/invoice/') };

/** A visit to a page that attach answered: the operations of its user, and where it leads. */
async function visit(url: string) {
  const { baseUrl } = stand.stack.facts();
  const query = new URL(url).searchParams;
  const clientSession = query.get('session') ?? '';
  const exchanged = orThrow(await createClient({ baseUrl }).post('/portal/session/exchange', { clientSession }));
  return { query, exchanged, page: createClient({ baseUrl, credential: exchanged.token }) };
}

describe('attach', () => {
  it('sends a person without a card to the checkout, where the plan is bought; then it is there', async () => {
    const user = person();
    const request = { user, plan: code, quantity: 2, returnUrl: 'https://shop.example.com/back' };
    const sent = await api.attach(request);
    if (sent.is !== 'page') throw new Error(`it is ${sent.is}`);
    const { query, exchanged, page } = await visit(sent.url);
    expect(Object.fromEntries(query)).toMatchObject({ planId: String(plans.small), quantity: '2' });
    expect(exchanged).toMatchObject({ user: { email: user.email }, returnUrl: request.returnUrl });

    const terms = { planId: plans.small, quantity: 2, gatewayId };
    const { totalAmount: confirmTotalAmount } = orThrow(await page.post('/portal/subscription/create_preview', terms));
    const order = { ...terms, confirmTotalAmount };
    const { invoiceId } = orThrow(await page.post('/portal/subscription/create_submit', order));
    // meanwhile the page of its invoice is where to go
    expect(await api.attach({ ...request, waitMs: 0 })).toEqual(invoicePage);
    orThrow(await page.post('/portal/invoice/pay', { invoiceId, gatewayId, data: { scenario: 'succeeds' } }));
    const again = () => api.attach(request);
    expect(await until(again, ({ is }) => is === 'done')).toEqual(done);
    expect(await api.attach({ ...request, user: user.externalUserId })).toEqual(done);
    const subscriptions = orThrow(await api.get('/merchant/subscription/list', { Email: user.email })).subscriptions;
    expect(subscriptions.map(({ subscription: { status, quantity } }) => [status, quantity])).toEqual([
      [subscriptionStatus.active, 2],
    ]);
  });

  it('finds the e-mail of a known user for the page', async () => {
    const { user } = orThrow(await api.post('/merchant/user/new', person()));
    for (const named of [user.id, user.externalUserId]) {
      const sent = await api.attach({ user: named, plan: plans.small });
      if (sent.is !== 'page') throw new Error(`it is ${sent.is}`);
      expect((await visit(sent.url)).exchanged.user.email).toBe(user.email);
    }
    expect(await subscriptionsOf(user.id)).toEqual([]);
  });

  it.each(['small', 'free'] as const)('of the plan %s, 64 times at once, buys once and charges once', async name => {
    const userId = await cardholder();
    const all = await Promise.all(times(64, () => api.attach({ user: userId, plan: plans[name], waitMs: 60_000 })));
    expect(new Set(all.map(answer => JSON.stringify(answer))).size).toBe(1);
    expect(all[0]).toEqual(done);
    expect(await subscriptionsOf(userId)).toHaveLength(1);
    const paid = (await invoicesOf(userId)).filter(({ totalAmount }) => totalAmount > 0);
    expect(paid.map(({ status }) => status)).toEqual(name === 'free' ? [] : [invoiceStatus.paid]);
  });

  it('64 times at once under one key, by a person who is new, makes one user with one subscription', async () => {
    const user = person();
    const request = { user, plan: plans.free, idempotencyKey: randomUUID() };
    const all = await Promise.all(times(64, () => api.attach(request)));
    expect(new Set(all.map(answer => JSON.stringify(answer))).size).toBe(1);
    expect(all[0]).toEqual(done);
    const { total } = orThrow(await api.get('/merchant/subscription/list', { Email: user.email }));
    expect(total).toBe(1);
  });

  it('upgrades at once, 64 times at once changing it once', async () => {
    const userId = await cardholder();
    const bought = await api.attach({ user: userId, plan: plans.small, waitMs: 60_000 });
    expect(bought).toEqual(done);
    const all = await Promise.all(times(64, () => api.attach({ user: userId, plan: plans.large, waitMs: 60_000 })));
    expect(all).toEqual(times(64, () => bought));
    const { subscription } = await detailOf(userId);
    expect(subscription).toMatchObject({ planId: plans.large, status: subscriptionStatus.active });
    const subscriptionId = subscription?.subscriptionId ?? '';
    const { total } = orThrow(await api.get('/merchant/subscription/pending_update_list', { subscriptionId }));
    expect(total).toBe(1);
    expect((await invoicesOf(userId)).map(({ status }) => status)).toEqual(times(2, () => invoiceStatus.paid));
  });

  it('downgrades at the end of the period, and takes that back by the plan that is there', async () => {
    const userId = await cardholder();
    const large = { user: userId, plan: plans.large, waitMs: 60_000 };
    expect(await api.attach(large)).toEqual(done);
    const { subscription } = await detailOf(userId);
    const effectTime = subscription?.currentPeriodEnd;
    const small = { user: userId, plan: plans.small };
    expect(await Promise.all(times(8, () => api.attach(small)))).toEqual(times(8, () => ({ ...done, effectTime })));
    expect(await api.attach(small)).toEqual({ ...done, effectTime });
    expect(await api.attach(large)).toEqual(done);
    expect((await detailOf(userId)).unfinishedSubscriptionPendingUpdate).toBeNull();
    // as often as that, and within one second
    for (let round = 0; round < 3; round++) {
      expect(await api.attach(small)).toEqual({ ...done, effectTime });
      expect((await detailOf(userId)).unfinishedSubscriptionPendingUpdate?.updatePlanId).toBe(plans.small);
      expect(await api.attach(large)).toEqual(done);
      expect((await detailOf(userId)).unfinishedSubscriptionPendingUpdate).toBeNull();
    }
  });

  it('charges the upgrade of a free plan to the card that was saved since', async () => {
    const { user } = orThrow(await api.post('/merchant/user/new', person()));
    const free = await api.attach({ user: user.id, plan: plans.free });
    expect(free).toEqual(done);
    await save(user.id, 'succeeds');
    expect(await api.attach({ user: user.id, plan: plans.small, waitMs: 60_000 })).toEqual(free);
    const { subscription } = await detailOf(user.id);
    expect(subscription).toMatchObject({ planId: plans.small, gatewayId });
  });

  it('of which no answer came is unknown, and is there at the next call, once', async () => {
    const userId = await cardholder();
    const { baseUrl } = stand.stack.facts();
    const losing = createClient({
      baseUrl,
      credential: seller.apiKey,
      attempts: 1,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        if (!String(input).includes('_submit')) return response;
        await response.arrayBuffer();
        throw new TypeError('cut');
      },
    });
    for (const plan of [plans.small, plans.large]) {
      const request = { user: userId, plan, waitMs: 60_000 };
      expect(await losing.attach(request)).toEqual({
        is: 'unknown',
        error: expect.objectContaining({ type: 'unreachable' }),
      });
      expect(await api.attach(request)).toEqual(done);
      expect((await detailOf(userId)).subscription?.planId).toBe(plan);
    }
    expect(await subscriptionsOf(userId)).toHaveLength(1);
    expect((await invoicesOf(userId)).map(({ status }) => status)).toEqual(times(2, () => invoiceStatus.paid));
  });

  it('asks anew under other terms: a discount code that another attempt did not name', async () => {
    const userId = await cardholder();
    const discountCode = randomUUID().slice(0, 8);
    const [startTime, year] = [await timeOf(api), 31_536_000];
    const { discount } = orThrow(
      await api.post('/merchant/discount/new', {
        code: discountCode,
        name: discountCode,
        billingType: 1,
        discountType: 1,
        discountPercentage: 5_000,
        startTime,
        endTime: startTime + year,
      }),
    );
    orThrow(await api.post('/merchant/discount/activate', { id: discount.id }));
    const request = { user: userId, plan: plans.small, waitMs: 60_000 };
    expect(await api.attach({ ...request, discountCode: 'unknown' })).toMatchObject({ is: 'refused' });
    expect(await api.attach({ ...request, discountCode })).toEqual(done);
    expect((await invoicesOf(userId)).map(({ totalAmount }) => totalAmount)).toEqual([500]);
  });

  it.each(['declines_softly', 'declines_hard', 'needs_action'])(
    'leads to the page of the invoice for a card that %s, and is done when it is paid',
    async scenario => {
      const userId = await cardholder(scenario);
      const request = { user: userId, plan: plans.small, waitMs: 60_000 };
      const sent = await api.attach(request);
      expect(sent).toEqual(invoicePage);
      expect(await api.attach(request)).toEqual(sent);
      const invoices = await invoicesOf(userId);
      expect(invoices.map(({ link, status }) => [link, status])).toEqual([
        [sent.is === 'page' && sent.url, invoiceStatus.processing],
      ]);
      if (scenario !== 'declines_softly') return;
      await save(userId, 'succeeds');
      const paid = async () => (await invoicesOf(userId))[0]?.status;
      await until(paid, status => status === invoiceStatus.paid);
      expect(await api.attach(request)).toEqual(done);
    },
  );

  it('asks for the page of an upgrade that is not paid, which leaves the plan as it is', async () => {
    const userId = await cardholder();
    expect(await api.attach({ user: userId, plan: plans.small, waitMs: 60_000 })).toEqual(done);
    const { methodList } = orThrow(await api.get('/merchant/payment/method_list', { gatewayId, userId }));
    await save(userId, 'declines_hard');
    for (const { id: paymentMethodId } of methodList)
      orThrow(await api.post('/merchant/payment/method/delete', { gatewayId, userId, paymentMethodId }));
    const upgrade = { user: userId, plan: plans.large, waitMs: 60_000 };
    expect(await api.attach(upgrade)).toEqual(invoicePage);
    expect(await api.attach(upgrade)).toEqual(invoicePage);
    expect((await detailOf(userId)).subscription).toMatchObject({ planId: plans.small });
  });

  it('does not buy again under the key of a purchase that has ended', async () => {
    const userId = await cardholder();
    const request = { user: userId, plan: plans.free, idempotencyKey: randomUUID() };
    const bought = await api.attach(request);
    expect(bought).toEqual(done);
    const { subscription } = await detailOf(userId);
    const { subscriptionId = '' } = subscription ?? {};
    orThrow(await api.post('/merchant/subscription/cancel', { subscriptionId }));
    expect(await api.attach(request)).toEqual(bought);
    expect(await subscriptionsOf(userId)).toHaveLength(1);
    expect(await api.attach({ user: userId, plan: plans.free })).not.toEqual(bought);
    expect(await subscriptionsOf(userId)).toHaveLength(2);
  });

  it('does no other thing under a key: what it bought is not changed by it later', async () => {
    const userId = await cardholder();
    const request = { user: userId, plan: plans.small, idempotencyKey: randomUUID(), waitMs: 60_000 };
    expect(await api.attach(request)).toEqual(done);
    expect(await api.attach({ user: userId, plan: plans.large, waitMs: 60_000 })).toEqual(done);
    const reused = { is: 'refused', error: expect.objectContaining({ type: 'idempotency_reused' }) };
    expect(await api.attach(request)).toEqual(reused);
    expect(await detailOf(userId)).toMatchObject({
      subscription: { planId: plans.large },
      unfinishedSubscriptionPendingUpdate: null,
    });
  });

  it('sends who starts a trial that demands a card to the checkout, and answers refusals', async () => {
    const user = person();
    expect(await api.attach({ user, plan: plans.trial })).toMatchObject({
      is: 'page',
      url: expect.stringContaining('/checkout?'),
    });
    const refused = (type: string) => ({ is: 'refused', error: expect.objectContaining({ type }) });
    expect(await api.attach({ user, plan: 999_999_999 })).toEqual(refused('plan_not_found'));
    expect(await api.attach({ user: 'no such user', plan: plans.free })).toEqual(refused('user_not_found'));
    expect(await api.attach({ user: { email: 'none' }, plan: plans.free })).toEqual(refused('invalid_parameters'));
  });
});

describe('check', () => {
  const { limitMetered, limitRecurring, chargeMetered } = metricType;
  const { count, countUnique, latest, max, sum } = aggregationType;
  const values = [3, 5, -4, 1, 2, 6, 4, 4, 0, 1_000_000_000_001, 1.5, 1, 1, 1, 1];
  const texts = ['', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'];

  it.each<[string, { type: number; aggregation: number; limit?: number; values: readonly (number | string)[] }]>([
    ['a sum', { type: limitMetered, aggregation: sum, limit: 10, values }],
    ['a count', { type: limitRecurring, aggregation: count, limit: 10, values }],
    ['a maximum', { type: limitMetered, aggregation: max, limit: 4, values }],
    ['the latest', { type: limitMetered, aggregation: latest, limit: 4, values }],
    ['unique ids', { type: limitMetered, aggregation: countUnique, limit: 9, values: texts }],
    ['text of a sum', { type: limitMetered, aggregation: sum, limit: 10, values: ['a', '', 1] }],
    ['a limit that the plan does not have', { type: limitMetered, aggregation: sum, values: [0, 1, -1] }],
    ['a charge', { type: chargeMetered, aggregation: sum, values }],
  ])('allows exactly what track takes: of %s', async (_what, { type, aggregation, limit, values }) => {
    const metric = randomUUID();
    const property = aggregation === count ? {} : { aggregationProperty: 'n' };
    const { merchantMetric } = orThrow(
      await api.post('/merchant/metric/new', {
        code: metric,
        metricName: metric,
        type,
        aggregationType: aggregation,
        ...property,
      }),
    );
    const metricId = merchantMetric.id;
    const metricLimits = limit === undefined ? [] : [{ metricId, metricLimit: limit }];
    const metricMeteredCharge = type === chargeMetered ? [{ metricId, standardAmount: 1 }] : [];
    const planId = await newPlan(api, { amount: 0, metricLimits, metricMeteredCharge });
    orThrow(await api.post('/merchant/plan/activate', { planId }));
    const user = person();
    const { email } = user;
    expect(orThrow(await api.check({ user, metric }))).toEqual({ allowed: false, used: 0, left: 0, until: 0 });
    expect(await api.attach({ user, plan: planId })).toEqual(done);
    const { subscriptions } = orThrow(await api.get('/merchant/subscription/list', { Email: email }));
    const verdicts = new Set<boolean>();
    for (const value of values) {
      const checked = await api.check({ user, metric, value });
      const tracked = await api.track({ user, metric, value, id: randomUUID() });
      verdicts.add(tracked.ok);
      if (checked.ok) expect([value, checked.data.allowed]).toEqual([value, tracked.ok]);
      else expect([value, tracked]).toMatchObject([value, { ok: false, error: { type: checked.error.type } }]);
      const after = orThrow(await api.check({ user: user.externalUserId, metric }));
      if (tracked.ok) expect(after.used).toBe(tracked.data.used);
      expect(after.left).toBe(type === chargeMetered ? null : Math.max(0, (limit ?? 0) - after.used));
      expect(after.until).toBe(subscriptions[0]?.subscription.currentPeriodEnd);
    }
    expect([...verdicts].sort()).toEqual([false, true]);
  });

  it('tells of a metric that there is not, and track counts a repeat once', async () => {
    const metric = randomUUID();
    const unknown = { ok: false, error: expect.objectContaining({ type: 'metric_not_found' }) };
    expect(await api.check({ user: (await cardholder()) as number, metric })).toEqual(unknown);
    orThrow(await api.post('/merchant/metric/new', { code: metric, metricName: metric, type: limitMetered }));
    const { merchantMetrics } = orThrow(await api.get('/merchant/metric/list', { searchKey: metric }));
    const metricLimits = [{ metricId: merchantMetrics[0]?.id ?? 0, metricLimit: 5 }];
    const planId = await newPlan(api, { amount: 0, metricLimits });
    orThrow(await api.post('/merchant/plan/activate', { planId }));
    const user = person();
    expect(await api.attach({ user, plan: planId })).toEqual(done);
    const event = { user, metric, value: 1, id: randomUUID(), time: await timeOf(api) };
    const [first, again] = [orThrow(await api.track(event)), orThrow(await api.track(event))];
    expect(again.id).toBe(first.id);
    expect(orThrow(await api.check({ user, metric }))).toMatchObject({ allowed: true, used: 1, left: 4 });
  });
});
