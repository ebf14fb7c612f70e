import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  metricHistoryByInvoice,
  metricHistoryBySubscription,
  metricHistoryInvoices,
  subscriptionDetail,
  subscriptionStatus,
  userUsage,
} from '@recur/contracts';
import { limit, type Metered, metered } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-05-01'));

/** Copies an object of catalog to billing. */
const copy = (name: string, id: number) => s.t.db.refresh(name, id, s.t.callerOf(s.merchant));
/** A subscriber to a limit of 100 a month. */
async function limited(over: object = {}) {
  const metric = s.metric('limitMetered');
  await copy('metrics', metric.id);
  const userId = await s.userWithCard();
  const metricLimits = [limit(metric.id, 100)];
  const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 500, metricLimits, ...over }) });
  const { invoiceId } = await s.state(id);
  return { metric, userId, id, invoiceId, use: (value: number) => s.use(userId, metric, value) };
}

describe('the history of limits', () => {
  const byInvoice = async (invoiceId: string) => {
    const { isLatestPaidInvoice, userHistoryMetric } = await s.t.done(
      metricHistoryByInvoice,
      { invoiceId },
      s.merchant,
    );
    return [isLatestPaidInvoice, userHistoryMetric.invoiceId, userHistoryMetric.limitStats.map(one => one.usedValue)];
  };

  it('shows counters for the invoice that was paid last, what was kept for others, and nothing for one unpaid', async () => {
    const { id, userId, invoiceId: older, use } = await limited();
    await use(10);
    await s.to('2026-05-30');
    const { invoiceId: newer } = await s.state(id);
    await use(5);
    await s.to('2026-06-02');
    await use(7);
    expect(await byInvoice(newer)).toEqual([true, newer, [7]]);
    expect(await byInvoice(older)).toEqual([false, older, [0]]);
    const bySubscription = await s.t.done(metricHistoryBySubscription, { subscriptionId: id }, s.merchant);
    const limitStats = [{ usedValue: 7, totalLimit: 100 }];
    expect(bySubscription.userHistoryMetric).toMatchObject({ invoiceId: newer, limitStats });
    const { invoices, total } = await s.t.done(metricHistoryInvoices, { userId }, s.merchant);
    expect([invoices.map(({ invoiceId }) => invoiceId), total]).toEqual([[newer, older], 2]);
    await s.swap(userId, 'declines_softly');
    await s.to('2026-06-30');
    const [unpaid] = await s.t.rows(
      `select invoice_id from invoices where subscription_id = $1 and status = 'processing'`,
      [id],
    );
    expect(await byInvoice(String(unpaid?.invoice_id))).toEqual([false, unpaid?.invoice_id, []]);
    expect(await byInvoice(newer)).toEqual([true, newer, [7]]);
  });

  it('is refused for an invoice of no subscription, and for what there is not', async () => {
    const { invoiceId } = await s.made({ userId: await s.userWithCard() }, s.merchant);
    const of = (id: string) => s.t.call(metricHistoryByInvoice, { invoiceId: id }, s.merchant);
    expect(await of(invoiceId)).toMatchObject({ slug: 'invoice_without_subscription' });
    expect(await of('in_none')).toMatchObject({ slug: 'invoice_not_found' });
    const none = await s.t.call(metricHistoryBySubscription, { subscriptionId: 'x' }, s.merchant);
    expect(none).toMatchObject({ slug: 'subscription_not_found' });
  });
});

it('the usage of a user is shown with the subscription, its plan and its product', async () => {
  s.knowProduct(7, {}, s.merchant.merchantId);
  await copy('products', 7);
  const { id, userId } = await limited({ productId: 7 });
  const { userMetric } = await s.t.done(userUsage, { userId }, s.merchant);
  expect(userMetric).toMatchObject({
    subscription: { subscriptionId: id, userId, status: subscriptionStatus.active },
    product: { id: 7 },
    plan: { amount: 500 },
    addons: [],
    onetimeAddons: [],
    isPaid: true,
  });
});

it('a subscription that is not billed says why', async () => {
  const { id } = await limited();
  const reason = async () =>
    (await s.t.done(subscriptionDetail, { subscriptionId: id }, s.merchant)).subscription.parkedReason;
  expect(await reason()).toBe('');
  await s.t.rows('update subscriptions set gateway_id = 0 where subscription_id = $1', [id]);
  await s.to('2026-05-30');
  expect(await reason()).toBe('It has no gateway by which it could be charged');
});
