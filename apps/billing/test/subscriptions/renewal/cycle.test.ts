import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addTrialTime,
  cancelInvoice,
  invoiceStatus,
  previewChange,
  previewNextInvoice,
  submitChange,
} from '@recur/contracts';
import { type Subscribers, subscribers, trialSteps, utc } from '../../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-01-31'));

it('renews month by month from the original day, and charges two hours before each period', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan() });
  expect(await s.dates(id)).toBe('active 01-31 02-28');
  await s.events(id);
  await s.to('2026-02-25');
  expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-28 1000', 'Cycle processing 02-28 03-31 1000']);
  expect((await s.invoice((await s.state(id)).invoiceId)).createFrom).toBe('AutoRenew');
  await s.to('2026-02-27T22:00');
  expect(await s.dates(id)).toBe('active 01-31 02-28');
  expect(await s.events(id)).toEqual(['track', 'auto_renew.success']);
  await s.to('2026-02-28');
  expect([await s.dates(id), await s.events(id)]).toEqual(['active 02-28 03-31', ['updated']]);
  await s.to('2026-05-01');
  expect(await s.dates(id)).toBe('active 04-30 05-31');
  expect(await s.invoices(id)).toEqual([
    'Create paid 01-31 02-28 1000',
    'Cycle paid 02-28 03-31 1000',
    'Cycle paid 03-31 04-30 1000',
    'Cycle paid 04-30 05-31 1000',
  ]);
});

it('is incomplete from the start of an unpaid period until its deadline, then expired', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan() });
  await s.to('2026-03-01');
  await s.swap(userId, 'declines_softly');
  await s.events(id);
  await s.to('2026-03-30');
  const { invoiceId } = await s.state(id);
  expect(await s.dates(id)).toBe('active 02-28 03-31');
  await s.to('2026-03-31');
  expect(await s.dates(id)).toBe('incomplete 02-28 03-31');
  await s.to('2026-03-31T23:59');
  expect((await s.invoice(invoiceId)).status).toBe(invoiceStatus.processing);
  await s.to('2026-04-01');
  expect(await s.dates(id)).toBe('expired 02-28 03-31');
  expect((await s.invoice(invoiceId)).status).toBe(invoiceStatus.failed);
  expect(await s.events(id)).toEqual(['track', 'auto_renew.failure', 'expired', 'track.user.outofsubscribe']);
  const tries = await s.t.rows('select create_time from payments where invoice_id = $1 order by create_time', [
    invoiceId,
  ]);
  expect(tries).toHaveLength(3);
});

it('a payment that is late moves no boundary', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan() });
  await s.to('2026-02-20');
  await s.swap(userId, 'declines_softly');
  await s.to('2026-02-28T09:00');
  expect(await s.dates(id)).toBe('incomplete 01-31 02-28');
  await s.swap(userId, 'succeeds');
  await s.to('2026-02-28T10:00');
  expect(await s.dates(id)).toBe('active 02-28 03-31');
  expect((await s.events(id)).slice(-2)).toEqual(['auto_renew.success', 'activated']);
});

it('makes a cancelled invoice again after a retry interval, for the same period and with the same deadline', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan() });
  await s.to('2026-02-25T06:00');
  const { invoiceId } = await s.state(id);
  const { dayUtilDue } = await s.invoice(invoiceId);
  expect(dayUtilDue).toBe(4);
  await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
  await s.to('2026-02-25T17:59');
  expect((await s.state(id)).invoiceId).toBe(invoiceId);
  await s.to('2026-02-25T18:00');
  const again = await s.state(id);
  expect(again.invoiceId).not.toBe(invoiceId);
  expect(await s.invoices(id)).toEqual([
    'Create paid 01-31 02-28 1000',
    'Cycle cancelled 02-28 03-31 1000',
    'Cycle processing 02-28 03-31 1000',
  ]);
  const deadlines = await s.t.rows(`select deadline from invoices where invoice_id = any($1)`, [
    [invoiceId, again.invoiceId],
  ]);
  expect(deadlines.map(({ deadline }) => Number(deadline))).toEqual([utc('2026-03-01'), utc('2026-03-01')]);
  await s.to('2026-03-01');
  expect(await s.dates(id)).toBe('active 02-28 03-31');
});

it('a cancelled invoice that would be made again after its deadline is not: the subscription ends then', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan() });
  await s.to('2026-02-20');
  await s.swap(userId, 'declines_softly');
  await s.to('2026-02-28T23:00');
  await s.t.done(cancelInvoice, { invoiceId: (await s.state(id)).invoiceId }, s.merchant);
  await s.to('2026-02-28T23:59');
  expect(await s.dates(id)).toBe('incomplete 01-31 02-28');
  await s.to('2026-03-01');
  expect(await s.dates(id)).toBe('expired 01-31 02-28');
  expect(await s.invoices(id)).toHaveLength(2);
});

it('bills a year fifteen days ahead, once', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 12000, intervalUnit: 'year' }) });
  await s.to('2027-01-15');
  expect(await s.invoices(id)).toHaveLength(1);
  await s.to('2027-01-16');
  expect(await s.invoices(id)).toHaveLength(2);
  await s.to('2027-02-01');
  expect(await s.invoices(id)).toEqual(['Create paid 01-31 01-31 12000', 'Cycle paid 01-31 01-31 12000']);
});

describe('a plan that ends with its trial', () => {
  const begun = async () =>
    s.subscribe({ userId: await s.userWithCard(), planId: s.plan({ multiTrials: trialSteps, cancelAtTrialEnd: 1 }) });
  const preview = (subscriptionId: string) => s.t.call(previewNextInvoice, { subscriptionId }, s.merchant);

  it('goes through all steps, each previewed and billed before it begins, and ends then', async () => {
    const { id } = await begun();
    expect(await preview(id)).toMatchObject({
      data: { invoice: { totalAmount: 500, periodStart: utc('2026-02-07') } },
    });
    await s.to('2026-02-04');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle processing 02-07 03-07 500');
    await s.to('2026-02-07');
    expect(await s.dates(id)).toBe('active 02-07 03-07');
    expect(await s.events(id)).not.toContain('auto_renew.failure');
    expect(await preview(id)).toMatchObject({ slug: 'subscription_without_next_invoice' });
    await s.to('2026-03-07');
    expect(await s.dates(id)).toBe('cancelled 02-07 03-07');
    expect(await s.invoices(id)).toHaveLength(2);
  });

  it('ends with the free time that was appended to it', async () => {
    const { id: subscriptionId } = await begun();
    await s.t.done(addTrialTime, { subscriptionId, appendTrialEndHour: 48 }, s.merchant);
    await s.to('2026-03-08');
    expect(await s.dates(subscriptionId)).toBe('active 03-07 03-09');
    await s.to('2026-03-09');
    expect(await s.dates(subscriptionId)).toBe('cancelled 03-07 03-09');
    expect(await s.invoices(subscriptionId)).toHaveLength(2);
  });
});

it('goes through the steps of a trial, each with its own invoice, and bills the plan from their end', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan({ multiTrials: trialSteps }) });
  await s.to('2026-05-01');
  expect(await s.invoices(id)).toEqual([
    'Create paid 01-31 02-07 100',
    'Cycle paid 02-07 03-07 500',
    'Cycle paid 03-07 04-07 1000',
    'Cycle paid 04-07 05-07 1000',
  ]);
});

describe('free time that is to come', () => {
  const free = trialSteps.map((step, at) => ({ ...step, trialPrice: at === 0 ? 100 : 0 }));
  const next = async (subscriptionId: string) => s.t.call(previewNextInvoice, { subscriptionId }, s.merchant);

  it('is previewed by the invoice after it, known or not', async () => {
    const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan({ multiTrials: free }) });
    const after = { invoiceId: '', totalAmount: 1000, periodStart: utc('2026-03-07'), periodEnd: utc('2026-04-07') };
    expect(await next(id)).toMatchObject({ data: { invoice: after } });
    await s.to('2026-02-05');
    expect(await next(id)).toMatchObject({ data: { invoice: after } });
    await s.to('2026-03-08');
    expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-07 100', 'Cycle paid 03-07 04-07 1000']);
  });

  it('that it ends with has no invoice after it', async () => {
    const planId = s.plan({ multiTrials: free, cancelAtTrialEnd: 1 });
    const { id } = await s.subscribe({ userId: await s.userWithCard(), planId });
    const refused = { ok: false, slug: 'subscription_without_next_invoice' };
    expect(await next(id)).toMatchObject(refused);
    await s.to('2026-02-05');
    expect(await next(id)).toMatchObject(refused);
    await s.to('2026-03-08');
    expect(await s.dates(id)).toBe('cancelled 02-07 03-07');
    expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-07 100']);
  });

  it('and a deferred change before it are previewed by the invoice after both', async () => {
    const [large, small] = [s.plan({ amount: 2000, multiTrials: free }), s.plan({ amount: 700 })];
    const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: large });
    const change = {
      subscriptionId: id,
      newPlanId: small,
      quantity: 1,
    };
    const after = { invoiceName: 'SubscriptionCycle', totalAmount: 700, periodStart: utc('2026-03-07') };
    const { nextPeriodInvoice } = await s.t.done(previewChange, change, s.merchant);
    expect(nextPeriodInvoice).toMatchObject(after);
    await s.t.done(submitChange, change, s.merchant);
    expect(await next(id)).toMatchObject({ data: { invoice: after } });
    await s.to('2026-02-06T23:30');
    expect(await next(id)).toMatchObject({ data: { invoice: after } });
    await s.to('2026-03-08');
    expect(await s.invoices(id)).toEqual(['Create paid 01-31 02-07 100', 'Cycle paid 03-07 04-07 700']);
  });
});

it('parks a subscription of which more than three periods were missed while billing was away', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan({ intervalUnit: 'day' }) });
  s.clock.advance(6 * 86_400);
  await s.drain();
  expect(await s.invoices(id)).toHaveLength(1);
  const [row] = await s.t.rows('select parked_reason, status from subscriptions where subscription_id = $1', [id]);
  expect(row).toEqual({ parked_reason: 'More than 3 periods were not billed', status: 'active' });
});

it('catches up one period per retry interval after a shorter downtime', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan({ intervalUnit: 'day' }) });
  s.clock.advance(2.5 * 86_400);
  await s.drain();
  expect(await s.invoices(id)).toHaveLength(2);
  s.clock.advance(43_200);
  await s.drain();
  expect(await s.invoices(id)).toHaveLength(3);
  expect(await s.dates(id)).toBe('active 02-02 02-03');
});

it('carries out a deferred change whose period began while billing was away', async () => {
  const userId = await s.userWithCard();
  const [large, small] = [s.plan({ amount: 2000 }), s.plan({ amount: 1000 })];
  const { id } = await s.subscribe({ userId, planId: large });
  await s.t.done(submitChange, { subscriptionId: id, newPlanId: small, quantity: 1 }, s.merchant);
  const { end } = await s.state(id);
  s.clock.advance(end + 86_400 - s.clock.now());
  await s.drain();
  const [row] = await s.t.rows(
    'select plan_id, pending_update_id, status from subscriptions where subscription_id = $1',
    [id],
  );
  expect(row).toEqual({ plan_id: String(small), pending_update_id: '', status: 'active' });
  expect((await s.invoices(id)).map(invoice => invoice.split(' ').at(-1))).toEqual(['2000', '1000']);
});
