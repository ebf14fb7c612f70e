import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  archiveGateway,
  createSubscription,
  discountBillingType,
  incrementPromoCredit,
  invoiceStatus,
  newPaymentMethod,
  planStatus,
  planType,
  previewSubscription,
  restoreGateway,
  subscriptionStatus,
  updateSubscriptionConfig,
  userStatus,
} from '@recur/contracts';
import { type World, world } from '../world/subscriptions.js';

const DAY = 86_400;
const monthly = { intervalUnit: 'month', intervalCount: 1, type: planType.main };
let w: World;
let sandbox: { gatewayId: number };
beforeAll(async () => {
  w = await world();
  sandbox = await w.sandbox();
});
afterAll(() => w.t.close());
beforeEach(() => w.types());

const refused = (over: object) => w.t.call(createSubscription, { planId: 10, ...over });

describe('create_submit', () => {
  it('makes a subscription with an open first invoice, whose payment activates it', async () => {
    const userId = w.newUser();
    const made = await w.create({ userId, quantity: 2, addonParams: [{ addonPlanId: 11, quantity: 3 }] });
    const { subscriptionId, currentPeriodStart, currentPeriodEnd } = made.subscription;
    expect(made).toMatchObject({
      paid: false,
      subscription: { status: subscriptionStatus.pending, amount: 7500, currency: 'EUR' },
    });
    expect(await w.types()).toEqual([
      'subscription.created 1',
      'invoice.created 1',
      'invoice.process 2',
      'payment.created 1',
      'operation.logged 1',
    ]);
    const invoice = await w.detail(made.invoiceId);
    expect(invoice).toMatchObject({
      totalAmount: 7500,
      status: invoiceStatus.processing,
      invoiceName: 'SubscriptionCreate',
      subscriptionId,
      periodStart: currentPeriodStart,
      periodEnd: currentPeriodEnd,
      createFrom: 'Api',
      dayUtilDue: 3,
      planSnapshot: { plan: { id: 10 }, addons: [{ quantity: 3 }] },
    });
    expect(invoice.lines.map(line => [line.amountExcludingTax, line.periodEnd])).toEqual([
      [6000, currentPeriodEnd],
      [1500, currentPeriodEnd],
    ]);
    await w.receive(made.invoiceId);
    expect(await w.types()).toContain('subscription.activated 2');
    expect((await w.shown(subscriptionId)).subscription).toMatchObject({
      status: subscriptionStatus.active,
      currentPeriodPaid: 1,
      firstPaidTime: w.clock.now(),
    });
  });

  it('previews what it makes, to the line', async () => {
    const userId = w.newUser({ countryCode: 'DE' });
    await w.code('TEN');
    await w.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 7 });
    const terms = {
      planId: 10,
      userId,
      quantity: 3,
      addonParams: [{ addonPlanId: 11, quantity: 1 }],
      discountCode: 'TEN',
      applyPromoCredit: true,
      billingAnchorDay: 1,
      timeZone: 'Europe/Berlin',
    };
    const { invoice: preview, ...previewed } = await w.t.done(previewSubscription, terms);
    expect(previewed).toMatchObject({ discountMessage: '', recurringDiscountCode: 'TEN', taxPercentage: 1900 });
    expect(preview).toMatchObject({ invoiceId: '', promoCreditDiscountAmount: 700 });
    expect(preview.discountAmount).toBeGreaterThan(0);
    const made = await w.create({ ...terms, confirmTotalAmount: preview.totalAmount, confirmCurrency: 'EUR' });
    const invoice = await w.detail(made.invoiceId);
    const shown = ({
      lines,
      taxes,
      totalAmount,
      amountDue,
      discountAmount,
      promoCreditDiscountAmount,
    }: typeof invoice) => ({
      taxes,
      totalAmount,
      amountDue,
      discountAmount,
      promoCreditDiscountAmount,
      lines: lines.map(({ lineId: _, ...line }) => line),
    });
    expect(shown(invoice)).toEqual(shown(preview));
  });

  it('is active at once where nothing is to be paid, and a one-time code waits', async () => {
    await w.code('ONCE', { billingType: discountBillingType.onetime });
    await w.types();
    const { paid, invoiceId, subscription } = await w.create({
      userId: w.newUser(),
      trialEnd: w.clock.now() + DAY,
      discountCode: 'ONCE',
    });
    expect([paid, invoiceId, subscription.status]).toEqual([true, '', subscriptionStatus.active]);
    expect(await w.types()).toEqual(['subscription.created 1', 'subscription.activated 2', 'operation.logged 1']);
    const none = { discountAmount: 0, endTime: 0, metadata: {} };
    const full = { ...none, discountPercentage: 10_000, recurring: true, cycleLimit: 1 };
    const free = await w.create({ userId: w.newUser(), discount: full });
    expect([free.paid, free.subscription.status]).toEqual([true, subscriptionStatus.active]);
    expect(await w.detail(free.invoiceId)).toMatchObject({ totalAmount: 0, status: invoiceStatus.paid });
  });

  it('may start as incomplete, while its first invoice is open', async () => {
    const { subscription } = await w.create({ userId: w.newUser(), startIncomplete: true });
    expect(subscription).toMatchObject({ status: subscriptionStatus.incomplete });
    expect(subscription.currentPeriodPaid).toBe(w.clock.now() + 3 * DAY);
  });

  it('charges the trial of a plan once per user, unless the config allows more', async () => {
    w.knowPlan(20, { ...monthly, amount: 3000, trialDurationTime: 7 * DAY, trialAmount: 100, productId: 20 });
    const userId = w.newUser();
    const first = await w.create({ planId: 20, userId });
    expect((await w.detail(first.invoiceId)).totalAmount).toBe(100);
    expect(first.subscription.trialEnd).toBe(w.clock.now() + 7 * DAY);
    const { invoice } = await w.t.done(previewSubscription, { planId: 20, userId });
    expect(invoice.totalAmount).toBe(100);
    await w.receive(first.invoiceId);
    const again = await w.t.done(previewSubscription, { planId: 20, userId });
    expect([again.totalAmount, again.trialEnd, again.otherActiveSubscriptionId]).toEqual([
      3000,
      0,
      first.subscription.subscriptionId,
    ]);
    await w.t.done(updateSubscriptionConfig, { oneTrialPerUser: false });
    expect((await w.t.done(previewSubscription, { planId: 20, userId })).totalAmount).toBe(100);
    await w.t.done(updateSubscriptionConfig, { oneTrialPerUser: true });
  });

  it('needs a saved payment method where the trial demands one', async () => {
    w.knowPlan(21, { ...monthly, amount: 3000, trialDurationTime: DAY, trialDemand: 'paymentMethod', productId: 21 });
    const userId = w.newUser();
    expect(await refused({ planId: 21, userId })).toMatchObject({ issues: [{ path: '/paymentMethodId' }] });
    const { gatewayId } = sandbox;
    await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario: 'succeeds' } });
    expect(await w.create({ planId: 21, userId, gatewayId })).toMatchObject({ paid: true });
  });

  it('takes the prices of another currency from the plan', async () => {
    const rule = {
      currency: 'JPY',
      exchangeRate: 149.5,
      amount: 0,
      fixedAmount: 0,
      autoExchange: false,
      disable: false,
    };
    w.knowPlan(22, { ...monthly, amount: 999, currency: 'USD', multiCurrencies: [rule] });
    const made = await w.create({ planId: 22, userId: w.newUser(), quantity: 3, currency: 'JPY' });
    expect(made.subscription.amount).toBe(4482);
    const rates = async () => (await w.detail(made.invoiceId)).planSnapshot?.multiCurrencySnapshot;
    const kept = { chargeCurrency: 'JPY', rates: [{ from: 'USD', to: 'JPY', rate: 149.5, source: 'plan' }] };
    expect(await rates()).toEqual({ ...kept, time: w.clock.now() });
    // an invoice from before source and time were kept
    await w.t.rows(
      `update invoices set billed = billed #- '{planSnapshot,multiCurrencySnapshot,time}'
        #- '{planSnapshot,multiCurrencySnapshot,rates,0,source}' where invoice_id = $1`,
      [made.invoiceId],
    );
    expect(await rates()).toEqual({ ...kept, rates: [{ ...kept.rates[0], source: '' }], time: 0 });
  });
});

describe('a user and a product', () => {
  it('have one subscription that lives', async () => {
    const { subscriptionId, userId } = await w.active();
    const answer = await refused({ userId });
    expect(answer).toMatchObject({ ok: false, slug: 'subscription_exists' });
    expect(JSON.stringify(answer)).toContain(subscriptionId);
  });

  it('answer the same request again for ten minutes; another one replaces what is not paid', async () => {
    const userId = w.newUser();
    const first = await w.create({ userId });
    expect(await w.create({ userId })).toMatchObject({ invoiceId: first.invoiceId, link: first.link });
    const second = await w.create({ userId, quantity: 2 });
    expect(second.invoiceId).not.toBe(first.invoiceId);
    expect(await w.statusOf(first.subscription.subscriptionId)).toBe(subscriptionStatus.cancelled);
    expect((await w.detail(first.invoiceId)).status).toBe(invoiceStatus.cancelled);
    w.clock.advance(600);
    const third = await w.create({ userId, quantity: 2 });
    expect(third.invoiceId).not.toBe(second.invoiceId);
  });

  it('answer the same request 64 times at once with one invoice, which has used a code and credit up', async () => {
    const userId = await w.userWithCredit({ promo: 5 });
    await w.code('ONCEEACH', { userLimit: 1 });
    const given = { userId, discountCode: 'ONCEEACH', applyPromoCredit: true };
    const answers = await Promise.all(Array.from({ length: 64 }, () => refused(given)));
    expect(new Set(answers.map(one => (one.ok ? one.data.invoiceId : one.slug))).size).toBe(1);
    expect(answers[0]).toMatchObject({ ok: true, data: { paid: false } });
    const rows = await w.t.rows('select count(*)::integer as invoices from invoices where user_id = $1', [userId]);
    expect(rows).toEqual([{ invoices: 1 }]);
    const { totalAmount } = await w.detail((await w.create(given)).invoiceId);
    expect(await refused({ ...given, confirmTotalAmount: totalAmount })).toMatchObject({ ok: true });
    // another total was confirmed than that of the first: it is no repeat
    expect(await refused({ ...given, confirmTotalAmount: totalAmount + 1 })).toMatchObject({ ok: false });
  });

  it('answer another request where what its price depends on has changed', async () => {
    w.knowPlan(34, { ...monthly, amount: 1000 });
    const userId = w.newUser();
    const first = await w.create({ planId: 34, userId });
    const more = await w.t.rows('select data, version from plan_copies where id = 34');
    await w.t.rows(`update plan_copies set data = data || '{"amount": 1200}', version = version + 1 where id = 34`);
    expect(more).toHaveLength(1);
    const second = await w.create({ planId: 34, userId });
    expect(second.invoiceId).not.toBe(first.invoiceId);
    expect((await w.detail(second.invoiceId)).totalAmount).toBe(1200);
  });

  it('are charged with the method that only the second of two equal requests names', async () => {
    const { gatewayId } = sandbox;
    const userId = w.newUser();
    const method = async (scenario: string) =>
      (await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario } })).method?.id ?? '';
    const bad = await method('declines_hard');
    const first = await w.create({ userId, gatewayId, paymentMethodId: bad });
    await w.drain();
    expect(await w.statusOf(first.subscription.subscriptionId)).toBe(subscriptionStatus.pending);
    expect(await refused({ userId, gatewayId, paymentMethodId: 'pm_none' })).toMatchObject({
      slug: 'payment_method_not_found',
    });
    const good = await method('succeeds');
    const again = await w.create({ userId, gatewayId, paymentMethodId: good });
    expect(again).toMatchObject({ invoiceId: first.invoiceId, subscription: { status: subscriptionStatus.pending } });
    await w.drain();
    expect((await w.detail(first.invoiceId)).status).toBe(invoiceStatus.paid);
  });

  it('have one that lives after 64 requests at once', async () => {
    const userId = w.newUser();
    await Promise.all(Array.from({ length: 64 }, (_, at) => refused({ userId, quantity: at + 1 })));
    const rows = await w.t.rows(`select status from subscriptions where user_id = $1 and status <> 'cancelled'`, [
      userId,
    ]);
    expect(rows).toHaveLength(1);
  });
});

describe('the first invoice', () => {
  it('that is not paid in three days ends the subscription as failed', async () => {
    const { subscription, invoiceId } = await w.create({ userId: w.newUser() });
    w.clock.advance(3 * DAY - 1);
    await w.drain();
    expect(await w.statusOf(subscription.subscriptionId)).toBe(subscriptionStatus.pending);
    w.clock.advance(1);
    await w.drain();
    expect(await w.statusOf(subscription.subscriptionId)).toBe(subscriptionStatus.failed);
    expect((await w.detail(invoiceId)).status).toBe(invoiceStatus.failed);
    expect(await w.types()).toContain('subscription.failed 2');
  });

  it('that is cancelled ends it, and gives its code back', async () => {
    const { id } = await w.code('SINGLE', { quantity: 1 });
    const { subscription, invoiceId } = await w.create({ userId: w.newUser(), discountCode: 'SINGLE' });
    const uses = () => w.t.rows('select uses from discounts where discount_id = $1', [id]);
    expect(await uses()).toEqual([{ uses: 1 }]);
    await w.moves.cancel(invoiceId);
    expect(await uses()).toEqual([{ uses: 0 }]);
    expect(await w.statusOf(subscription.subscriptionId)).toBe(subscriptionStatus.cancelled);
  });
});

describe('create_preview and create_submit refuse', () => {
  const both = async (over: object, slug: string) => {
    const input = { planId: 10, userId: 1, ...over };
    expect(await w.t.call(previewSubscription, input)).toMatchObject({ ok: false, slug });
    expect(await w.t.call(createSubscription, input)).toMatchObject({ ok: false, slug });
  };

  it('users, plans and gateways that are not there, or not usable', async () => {
    w.knowUser(900, { status: userStatus.suspended });
    w.knowPlan(30, { ...monthly, status: planStatus.softArchived });
    await both({ userId: 999 }, 'user_not_found');
    await both({ userId: 900 }, 'user_inactive');
    await both({ planId: 99 }, 'plan_not_found');
    await both({ planId: 30 }, 'plan_not_active');
    await both({ gatewayId: 99 }, 'gateway_not_found');
    const { gatewayId } = w.gateway;
    await w.t.done(archiveGateway, { gatewayId });
    await both({ gatewayId }, 'gateway_archived');
    await w.t.done(restoreGateway, { gatewayId });
  });

  it('terms that do not fit', async () => {
    w.knowPlan(31, { ...monthly, intervalUnit: 'day' });
    await both({ planId: 11 }, 'invalid_parameters');
    await both({ addonParams: [{ addonPlanId: 10 }] }, 'invalid_parameters');
    await both({ planId: 31, billingAnchorDay: 3 }, 'invalid_parameters');
    await both({ timeZone: 'Mars/Olympus' }, 'invalid_parameters');
    await both({ currency: 'USD' }, 'invalid_parameters');
    await both({ trialEnd: 1 }, 'invalid_parameters');
  });

  it('what was not confirmed, an unknown method, a code that does not apply, and too small an amount', async () => {
    const userId = w.newUser();
    expect(await refused({})).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/userId' }] });
    expect(await refused({ userId, confirmTotalAmount: 1 })).toMatchObject({ slug: 'total_changed' });
    expect(await refused({ userId, confirmCurrency: 'USD' })).toMatchObject({ slug: 'invalid_parameters' });
    expect(await refused({ userId, paymentMethodId: 'pm_x' })).toMatchObject({ slug: 'payment_method_not_found' });
    expect(await refused({ userId, discountCode: 'NOPE' })).toMatchObject({ issues: [{ path: '/discountCode' }] });
    const previewed = await w.t.done(previewSubscription, { planId: 10, userId, discountCode: 'NOPE' });
    expect(previewed.discountMessage).toBe('There is no discount code NOPE');
    w.knowPlan(32, { ...monthly, amount: 99 });
    expect(await refused({ userId, planId: 32, gatewayId: w.gateway.gatewayId })).toMatchObject({
      slug: 'amount_below_minimum',
    });
    expect(await w.t.rows('select 1 from subscriptions where user_id = $1', [userId])).toEqual([]);
  });
});

it('quotes an unknown user by e-mail, in the zone of the config', async () => {
  await w.t.done(updateSubscriptionConfig, { timeZone: 'Asia/Tokyo', firstInvoiceDays: 5 });
  const { invoice, userId, email } = await w.t.done(previewSubscription, { planId: 10, email: 'new@example.com' });
  expect([invoice.totalAmount, userId, email]).toEqual([3000, 0, 'new@example.com']);
  const { subscription, invoiceId } = await w.create({ userId: w.newUser() });
  expect(subscription.timeZone).toBe('Asia/Tokyo');
  expect((await w.detail(invoiceId)).dayUtilDue).toBe(5);
});
