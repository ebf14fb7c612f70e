import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  aggregationType,
  cancelAtPeriodEnd,
  cancelInvoice,
  cancelSubscription,
  deleteInvoice,
  editInvoice,
  emptyOf,
  finishInvoice,
  type In,
  invoiceStatus,
  MetricPlanCharge,
  metricHistoryByInvoice,
  metricType,
  newUsageEvent,
  PlanAutoChargeConfig,
  previewChange,
  previewNextInvoice,
  submitChange,
  userUsage,
} from '@recur/contracts';
import { type Subscribers, subscribers, utc } from '../../world/clock.js';

let s: Subscribers;
let sent = 0;
const METRIC = 3;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(async () => {
  await s.anew('2026-01-31');
  const of = { type: metricType.chargeMetered, aggregationType: aggregationType.sum, metricName: 'Calls' };
  s.knowMetric(METRIC, of, s.merchant.merchantId);
});

/** A plan of 1000 a month and 10 a call. */
const plan = (over: object = {}) =>
  s.plan({ metricMeteredCharge: [{ ...emptyOf(MetricPlanCharge), metricId: METRIC, standardAmount: 10 }], ...over });
/** Records usage at a time, which is now by default. */
const use = (userId: number, aggregationValue: number, date?: string, code = `m${METRIC}`) => {
  const input: Partial<In<typeof newUsageEvent>> = { userId, aggregationValue, externalEventId: `e${++sent}` };
  return s.t.call(
    newUsageEvent,
    { metricCode: code, ...input, ...(date && { eventTime: utc(date) }) } as In<typeof newUsageEvent>,
    s.merchant,
  );
};
const subscribed = async (scenario = 'succeeds', terms: object = {}, of: object = {}) => {
  const userId = await s.userWithCard(scenario);
  const { id } = await s.subscribe({ userId, planId: plan(of), ...terms });
  return { id, userId };
};
const next = async (subscriptionId: string) =>
  (await s.t.done(previewNextInvoice, { subscriptionId }, s.merchant)).invoice;
const lines = async (id: string) => {
  const { lines: all } = await s.invoice((await s.state(id)).invoiceId);
  return all.map(({ name, amountExcludingTax }) => `${name} ${amountExcludingTax}`);
};

it('is billed in arrears on a draft that takes late events for an hour, and is charged then', async () => {
  const { id, userId } = await subscribed();
  await s.to('2026-02-10');
  await use(userId, 900);
  const before = await next(id);
  expect(before.totalAmount).toBe(10_000);
  await s.to('2026-02-27T12:00');
  expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-28 1000']);
  await s.to('2026-02-28T00:10');
  expect(await s.dates(id)).toBe('active 02-28 03-31');
  expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-28 1000', 'Cycle pending 02-28 03-31 10000']);
  await s.to('2026-02-28T00:40');
  expect(await use(userId, 30, '2026-02-27T23:50')).toMatchObject({ ok: true });
  const preview = await next(id);
  expect(preview.totalAmount).toBe(10_300);
  await s.to('2026-02-28T01:00');
  expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-28 1000', 'Cycle paid 02-28 03-31 10300']);
  expect(await s.dates(id)).toBe('active 02-28 03-31');
  const { invoiceId } = await s.state(id);
  const invoice = await s.invoice(invoiceId);
  expect(invoice.lines.map(({ amount, name }) => [name, amount])).toEqual(
    preview.lines.map(({ amount, name }) => [name, amount]),
  );
  expect(invoice.lines[1]?.metricCharge).toMatchObject({ CurrentUsedValue: 930, totalChargeAmount: 9300 });

  // late usage stands on a line of its own on the next invoice, beside that of the period
  await s.to('2026-02-28T02:00');
  await use(userId, 5, '2026-02-27T23:55');
  await use(userId, 7);
  await s.to('2026-03-31T01:00');
  expect(await lines(id)).toEqual([expect.stringMatching(/ 1000$/), 'Calls 70', 'Calls 50']);
});

it('is billed at the end of each period that is shorter than a retry interval', async () => {
  const autoChargeConfig = { ...emptyOf(PlanAutoChargeConfig), autoChargeRetryInterval: 3 * 86_400 };
  const { id, userId } = await subscribed('succeeds', {}, { intervalUnit: 'day', autoChargeConfig });
  await use(userId, 1);
  await s.to('2026-02-02T01:00');
  expect(await s.invoices(id)).toEqual([
    'Create paid 01-31 02-01 1000',
    'Cycle paid 02-01 02-02 1010',
    'Cycle paid 02-02 02-03 1000',
  ]);
});

it('without a charge that works it is incomplete from the finish on, and its boundaries stay', async () => {
  const { id, userId } = await subscribed();
  await s.to('2026-02-20');
  await use(userId, 1);
  await s.swap(userId, 'declines_softly');
  await s.to('2026-02-28T00:30');
  expect(await s.dates(id)).toBe('active 02-28 03-31');
  await s.to('2026-02-28T01:00');
  expect(await s.dates(id)).toBe('incomplete 02-28 03-31');
  await s.swap(userId, 'succeeds');
  await s.to('2026-02-28T14:00');
  expect(await s.dates(id)).toBe('active 02-28 03-31');
  await s.to('2026-03-31T01:00');
  expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 03-31 04-30 1000');
});

it('expires at the deadline where it is never paid', async () => {
  const { id, userId } = await subscribed();
  await s.to('2026-02-20');
  await s.swap(userId, 'declines_softly');
  await s.to('2026-03-03');
  expect((await s.state(id)).status).toBe('expired');
});

it('stands on the replacement of an invoice that was cancelled', async () => {
  const { id, userId } = await subscribed();
  await s.to('2026-02-20');
  await use(userId, 4);
  await s.swap(userId, 'declines_softly');
  await s.to('2026-02-28T01:00');
  const { invoiceId } = await s.state(id);
  expect((await next(id)).invoiceId).toBe(invoiceId);
  await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
  expect(await next(id)).toMatchObject({ invoiceId: '', periodStart: utc('2026-02-28'), totalAmount: 1040 });
  await s.swap(userId, 'succeeds');
  await s.to('2026-02-28T14:00');
  expect((await s.invoices(id)).slice(1)).toEqual(['Cycle cancelled 02-28 03-31 1040', 'Cycle paid 02-28 03-31 1040']);
  expect(await s.dates(id)).toBe('active 02-28 03-31');
});

it('its draft is neither edited nor deleted, and finish finishes it with what is counted by then', async () => {
  const { id, userId } = await subscribed();
  await s.to('2026-02-28T00:10');
  const { invoiceId } = await s.state(id);
  for (const move of [
    s.t.call(deleteInvoice, { invoiceId }, s.merchant),
    s.t.call(editInvoice, { invoiceId, name: 'Mine' }, s.merchant),
  ]) {
    expect(await move).toMatchObject({ ok: false, slug: 'invoice_not_draft' });
  }
  // nothing of the period is paid yet that a change could credit
  const change = { subscriptionId: id, newPlanId: plan({ amount: 2000 }), quantity: 1 };
  expect(await s.t.call(previewChange, change, s.merchant)).toMatchObject({
    ok: false,
    slug: 'subscription_wrong_state',
    message: expect.stringContaining('is not paid yet'),
  });
  await use(userId, 2, '2026-02-27T23:00');
  const { invoice } = await s.t.done(finishInvoice, { invoiceId, daysUtilDue: 3 }, s.merchant);
  expect(invoice).toMatchObject({ invoiceId, status: invoiceStatus.processing, totalAmount: 1020 });
  await s.to('2026-02-28T02:00');
  expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 02-28 03-31 1020');
});

it('is priced in one currency: a change to another one is refused', async () => {
  const { id } = await subscribed();
  const dollars = plan({ amount: 1200, currency: 'USD' });
  const change = { subscriptionId: id, newPlanId: dollars, quantity: 1, currency: 'USD' };
  expect(await s.t.call(previewChange, change, s.merchant)).toMatchObject({
    ok: false,
    slug: 'subscription_wrong_state',
    message: expect.stringContaining('is priced in EUR'),
  });
});

it('of a subscription that ends with its period is billed in a last invoice', async () => {
  const { id, userId } = await subscribed();
  await s.to('2026-02-20');
  await use(userId, 10);
  await s.t.done(cancelAtPeriodEnd, { subscriptionId: id }, s.merchant);
  expect((await next(id)).totalAmount).toBe(100);
  await s.to('2026-02-28T00:30');
  expect((await s.state(id)).status).toBe('cancelled');
  expect(await use(userId, 1, '2026-02-27T20:00')).toMatchObject({ ok: true });
  await s.to('2026-02-28T01:30');
  expect((await s.invoices(id)).slice(1)).toEqual(['Cancel paid 01-31 02-28T01:00 110']);
});

it('of a subscription that is cancelled is billed at once where that is asked for, and dropped where it is not', async () => {
  const [billed, dropped] = [await subscribed(), await subscribed()];
  await s.to('2026-02-10');
  for (const { userId } of [billed, dropped]) await use(userId, 6);
  await s.t.done(cancelSubscription, { subscriptionId: billed.id, invoiceNow: true }, s.merchant);
  await s.t.done(cancelSubscription, { subscriptionId: dropped.id }, s.merchant);
  expect((await s.invoices(billed.id)).slice(1)).toEqual([expect.stringMatching(/^Cancel processing 01-31 02-10 60$/)]);
  expect((await s.invoices(dropped.id)).slice(1)).toEqual([]);
  const logs = (await s.t.emitted()).filter(({ type }) => type === 'operation.logged').map(({ data }) => data);
  expect(JSON.stringify(logs)).toContain('Cancel, UsageDropped');
});

it('a draft is finished by an end: the usage before it in full, its fees as far as they were used', async () => {
  const [whole, part] = [await subscribed(), await subscribed()];
  await s.to('2026-02-27');
  for (const { userId } of [whole, part]) await use(userId, 10);
  await s.to('2026-02-28T00:31');
  await s.t.done(cancelSubscription, { subscriptionId: whole.id }, s.merchant);
  await s.t.done(cancelSubscription, { subscriptionId: part.id, prorate: true }, s.merchant);
  expect((await s.invoices(whole.id)).slice(1)).toEqual(['Cycle processing 02-28 03-31 1100']);
  // 31 minutes of 31 days of 1000 are 0.7
  expect((await s.invoices(part.id)).slice(1)).toEqual(['Cycle processing 02-28 02-28T00:31 101']);
  await s.to('2026-02-28T01:00');
  expect((await s.invoices(whole.id)).slice(1)).toEqual(['Cycle paid 02-28 03-31 1100']);
});

it('what a recurring limit leaves over is carried to the next period, once more when its usage is complete', async () => {
  const of = { type: metricType.limitRecurring, aggregationType: aggregationType.sum };
  s.knowMetric(4, of, s.merchant.merchantId);
  const limits = [{ metricId: 4, metricLimit: 1000 }];
  const { userId } = await subscribed('succeeds', {}, { metricMeteredCharge: [], metricLimits: limits });
  await s.to('2026-02-10');
  await use(userId, 700, undefined, 'm4');
  const total = async () => {
    const { userMetric: found } = await s.t.done(userUsage, { userId }, s.merchant);
    return found.limitStats.map(({ metricLimit, CurrentUsedValue }) => [metricLimit?.TotalLimit, CurrentUsedValue]);
  };
  expect(await total()).toEqual([[1000, 700]]);
  await s.to('2026-02-28T00:10');
  expect(await total()).toEqual([[1300, 0]]);
  await use(userId, 100, '2026-02-27T23:00', 'm4');
  await s.to('2026-02-28T02:00');
  expect(await total()).toEqual([[1200, 0]]);
});

it('the limits of a period are kept when its invoice is paid', async () => {
  const of = { type: metricType.limitMetered, aggregationType: aggregationType.sum };
  s.knowMetric(5, of, s.merchant.merchantId);
  const limits = [{ metricId: 5, metricLimit: 50 }];
  const { id, userId } = await subscribed('succeeds', {}, { metricMeteredCharge: [], metricLimits: limits });
  await use(userId, 30, undefined, 'm5');
  await s.to('2026-03-01');
  const { invoiceId } = await s.state(id);
  await use(userId, 20, undefined, 'm5');
  const kept = () => s.t.done(metricHistoryByInvoice, { invoiceId }, s.merchant);
  const of5 = (usedValue: number) => [{ usedValue, totalLimit: 50 }];
  expect(await kept()).toMatchObject({ isLatestPaidInvoice: true, userHistoryMetric: { limitStats: of5(20) } });
  await s.to('2026-04-01');
  expect(await kept()).toMatchObject({ isLatestPaidInvoice: false, userHistoryMetric: { limitStats: of5(30) } });
});

it('is previewed as its draft is named, where a deferred change made that', async () => {
  const { id, userId } = await subscribed('succeeds', {}, { amount: 2000 });
  await use(userId, 3);
  const newPlanId = plan({ amount: 1000 });
  await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
  await s.to('2026-02-28T00:10');
  const { invoiceName, totalAmount } = await next(id);
  expect([invoiceName, totalAmount]).toEqual(['SubscriptionDowngrade', 1030]);
  await s.to('2026-02-28T04:00');
  expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-28 2000', 'Downgrade paid 02-28 03-31 1030']);
});
