import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelAtPeriodEnd,
  cancelInvoice,
  cancelSubscription,
  deleteUsageEvent,
  listUsageEvents,
  refundInvoice,
  submitChange,
} from '@recur/contracts';
import { charge, type Metered, metered } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-05-01'));

/** A subscription to a plan of 500 a month and 10 a unit. */
async function metering(of: Parameters<Metered['metric']> = []) {
  const metric = s.metric(...of);
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({
    userId,
    planId: s.plan({ amount: 500, metricMeteredCharge: [charge(metric.id)] }),
  });
  return { metric, userId, id, use: (value: number, over: object = {}) => s.use(userId, metric, value, over) };
}
type Metering = Awaited<ReturnType<typeof metering>>;

/** A subscriber whose invoice for June, with 4 units of May, is not paid. */
async function unpaid(): Promise<Metering> {
  const made = await metering();
  await made.use(4);
  await s.swap(made.userId, 'declines_softly');
  await s.to('2026-06-01T12:00');
  expect(await s.dates(made.id)).toBe('incomplete 06-01 07-01');
  return made;
}

const cancel = (id: string, over: object = {}) =>
  s.t.done(cancelSubscription, { subscriptionId: id, ...over }, s.merchant);
/** Lines of usage after the first invoice: status, period and amount. */
const used = async ({ id, metric }: Pick<Metering, 'id' | 'metric'>) =>
  (await s.lines(id)).filter(line => line.includes(' usage:')).map(line => line.replace(` usage:${metric.id}`, ''));
/** Usage that was dropped: value and amount of each counter that had some. */
const dropped = async ({ id }: Pick<Metering, 'id'>) =>
  (
    await s.t.rows(
      `select value::int, amount::int from usage_billings where subscription_id = $1 and invoice_id like 'dropped\\_%'
        and value <> 0 order by start_at`,
      [id],
    )
  ).map(({ value, amount }) => [value, amount]);
const logged = async () =>
  (await s.t.emitted())
    .filter(({ type }) => type === 'operation.logged')
    .map(({ data }) => data as { target: string; content: string })
    .filter(({ content }) => content.includes('Dropped') || content.includes('Waived'))
    .map(({ target, content }) => `${target.split('(')[0]} ${content}`);

describe('usage of a subscription that is cancelled', () => {
  it('at once, billed: what comes within the grace is billed when that is over, and nothing after', async () => {
    const m = await metering();
    await m.use(6);
    await s.to('2026-05-10');
    await cancel(m.id, { invoiceNow: true });
    await s.to('2026-05-10T00:30');
    expect(await m.use(2, { at: '2026-05-09T12:00' })).toBe('');
    expect(await m.use(2)).toBe('usage_not_subscribed');
    await s.to('2026-05-10T01:00');
    expect(await m.use(3, { at: '2026-05-09T12:00' })).toBe('usage_not_subscribed');
    expect(await used(m)).toEqual(['paid 05-01 05-10 60', 'paid 05-01 05-10 20']);
  });

  it('at once, not billed: it is dropped, which is logged and kept with each counter, and no event is taken', async () => {
    const m = await metering();
    await m.use(6);
    await s.to('2026-05-10');
    await logged();
    await cancel(m.id);
    expect(await logged()).toEqual(['Subscription Cancel, UsageDropped']);
    expect(await m.use(1, { at: '2026-05-09' })).toBe('usage_not_subscribed');
    await s.to('2026-05-11');
    expect([await used(m), await dropped(m)]).toEqual([[], [[6, 60]]]);
    const { events } = await s.t.done(listUsageEvents, { userIds: [m.userId] }, s.merchant);
    expect(events).toMatchObject([{ chargeInvoiceId: '', unbilledReason: 'dropped' }]);
  });

  it('with its period: an event that is deleted after the last invoice could be credited on none', async () => {
    const m = await metering();
    await m.use(6, { id: 'e-kept' });
    await m.use(1, { id: 'e-gone' });
    await s.t.done(cancelAtPeriodEnd, { subscriptionId: m.id }, s.merchant);
    await s.to('2026-06-01T00:30');
    const remove = (externalEventId: string) =>
      s.t.call(deleteUsageEvent, { userId: m.userId, metricCode: m.metric.code, externalEventId }, s.merchant);
    expect(await remove('e-gone')).toMatchObject({ ok: true });
    await s.to('2026-06-02');
    expect(await remove('e-kept')).toMatchObject({
      ok: false,
      slug: 'usage_period_invoiced',
      message: expect.stringContaining('has ended'),
    });
    expect(await used(m)).toEqual(['paid 05-01 06-01 60']);
  });

  it('while a draft waits: each document bills its own part', async () => {
    const m = await metering();
    await m.use(6);
    await s.to('2026-06-01T00:31');
    await m.use(2);
    await cancel(m.id, { invoiceNow: true });
    await s.to('2026-06-02');
    expect(await used(m)).toEqual(['paid 05-01 06-01 60', 'paid 06-01 06-01T00:31 20']);
  });

  it('under its events: each of them is dropped with it, or refused', async () => {
    const m = await metering();
    const amounts = [];
    for (let round = 0; round < 5; round++) {
      const userId = await s.userWithCard();
      const planId = s.plan({ amount: 500, metricMeteredCharge: [charge(m.metric.id)] });
      const { id } = await s.subscribe({ userId, planId });
      const [answers] = await Promise.all([
        Promise.all(Array.from({ length: 30 }, () => s.use(userId, m.metric, 1))),
        cancel(id),
      ]);
      const taken = answers.filter(answer => answer === '').length;
      expect(answers.filter(answer => answer !== '' && answer !== 'usage_not_subscribed')).toEqual([]);
      amounts.push([taken === 0 ? [] : [[taken, taken * 10]], await dropped({ id })]);
    }
    for (const [taken, found] of amounts) expect(found).toEqual(taken);
  });

  it('by a refund is dropped, which the log tells beside the refund', async () => {
    const m = await metering();
    const { invoiceId } = await s.state(m.id);
    await m.use(6);
    await logged();
    const refund = { invoiceId, refundAmount: 100, reason: 'Late', cancelSubscription: true };
    await s.t.done(refundInvoice, refund, s.merchant);
    expect(await logged()).toEqual([expect.stringMatching(/, UsageDropped$/)]);
    expect(await dropped(m)).toEqual([[6, 60]]);
  });

  it('in the lead of an unpaid period: that before it is billed by itself at once', async () => {
    const m = await unpaid();
    await m.use(2);
    await cancel(m.id);
    expect(await used(m)).toEqual(['cancelled 05-01 06-01 40', 'processing 05-01 06-01 40']);
    expect(await dropped(m)).toEqual([[2, 20]]);
    await s.to('2026-06-05');
    expect(await used(m)).toHaveLength(2);
  });

  it('in an unpaid period, billed: all of it is billed', async () => {
    const m = await unpaid();
    await m.use(2);
    await cancel(m.id, { invoiceNow: true });
    expect(await used(m)).toEqual([
      'cancelled 05-01 06-01 40',
      'processing 05-01 06-01 40',
      'processing 06-01 06-01T12:00 20',
    ]);
  });
});

it('usage on an invoice that is not paid by its deadline stays billed there; that of the unpaid period is dropped', async () => {
  const m = await unpaid();
  await m.use(2);
  await logged();
  await s.to('2026-06-03');
  expect((await s.state(m.id)).status).toBe('expired');
  expect(await used(m)).toEqual(['failed 05-01 06-01 40']);
  expect(await dropped(m)).toEqual([[2, 20]]);
  expect(await logged()).toEqual(['Invoice Expire, UsageDropped']);
});

it('usage on a last invoice that is cancelled is not billed again', async () => {
  const m = await metering();
  await m.use(6);
  await cancel(m.id, { invoiceNow: true });
  const [last] = await s.t.rows(
    `select invoice_id from invoices where subscription_id = $1 and status = 'processing'`,
    [m.id],
  );
  await s.t.done(cancelInvoice, { invoiceId: String(last?.invoice_id) }, s.merchant);
  await s.to('2026-05-02');
  expect(await used(m)).toEqual([expect.stringMatching(/^cancelled .* 60$/)]);
});

it('usage on two last invoices that are cancelled one after the other, the older one first, is not billed again', async () => {
  const m = await metering();
  await m.use(6);
  await s.swap(m.userId, 'declines_softly');
  await s.to('2026-05-10');
  await cancel(m.id, { invoiceNow: true });
  expect(await m.use(2, { at: '2026-05-09T12:00' })).toBe('');
  await s.to('2026-05-10T01:10');
  expect(await used(m)).toEqual(['processing 05-01 05-10 60', 'processing 05-01 05-10 20']);
  const unpaid = await s.t.rows(
    `select invoice_id from invoices where subscription_id = $1 and status = 'processing' order by id`,
    [m.id],
  );
  for (const { invoice_id: invoiceId } of unpaid) await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
  await s.to('2026-05-12');
  expect(await used(m)).toEqual(['cancelled 05-01 05-10 60', 'cancelled 05-01 05-10 20']);
});

it('usage on the invoice of a draft that an end has finished is billed by itself where that is cancelled', async () => {
  const m = await metering();
  await m.use(6);
  await s.to('2026-06-01T00:31');
  await cancel(m.id);
  const { invoiceId } = await s.state(m.id);
  await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
  expect(await used(m)).toEqual(['cancelled 05-01 06-01 60', 'processing 05-01 06-01 60']);
});

it('late usage of a plan is billed two changes later', async () => {
  const m = await metering();
  await m.use(6);
  const change = (newPlanId: number) =>
    s.t.done(submitChange, { subscriptionId: m.id, newPlanId, quantity: 1, effectImmediate: 1 }, s.merchant);
  await s.to('2026-05-10');
  await change(s.plan({ amount: 1000 }));
  await s.to('2026-05-12');
  await change(s.plan({ amount: 2000 }));
  await s.to('2026-05-14');
  expect(await m.use(3, { at: '2026-05-05' })).toBe('');
  expect((await s.preview(m.id)).totalAmount).toBe(2030);
  await s.to('2026-06-02');
  expect(await used(m)).toEqual(['paid 05-01 05-10 60', 'paid 05-01 05-10 30']);
});
