import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelAtPeriodEnd,
  cancelInvoice,
  type Invoice,
  invoiceStatus,
  pendingUpdateStatus,
  previewNextInvoice,
  type Subscription,
} from '@recur/contracts';
import { boundary } from '@recur/kernel';
import { DAY, plans, roundPrices, type World, world } from '../../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

/** Moves the clock to a time, and does what falls due on the way. */
async function to(time: number) {
  w.clock.advance(time - w.clock.now());
  await w.drain();
}

/** The live invoice of the period after the current one. */
async function next({ subscriptionId, currentPeriodEnd }: Subscription) {
  const [row] = await w.t.rows(
    `select invoice_id from invoices where subscription_id = $1 and period_kind <> '' and period_start = $2
       and status in ('processing', 'paid')`,
    [subscriptionId, currentPeriodEnd],
  );
  return w.detail(String(row?.invoice_id));
}

const previewOf = async ({ subscriptionId }: Subscription) =>
  (await w.t.done(previewNextInvoice, { subscriptionId })).invoice;
const amounts = (document: Partial<Invoice> | null | undefined) => ({
  totalAmount: document?.totalAmount,
  invoiceName: document?.invoiceName,
  nets: document?.lines?.map(line => line.amountExcludingTax),
});

const small = { newPlanId: plans.small };

describe('a deferred change', () => {
  it('is billed by the next invoice, and takes effect when its period begins', async () => {
    const sub = await w.active({ planId: plans.large });
    const { subscriptionPendingUpdate } = await w.change(sub, small);
    const { subscriptionId } = sub;
    const { invoice: previewed } = await w.t.done(previewNextInvoice, { subscriptionId });
    expect(previewed).toMatchObject({ totalAmount: 10_000, invoiceName: 'SubscriptionDowngrade' });
    await to(sub.currentPeriodEnd - 3 * DAY);
    const invoice = await next(sub);
    expect(invoice).toMatchObject({ totalAmount: 10_000, invoiceName: 'SubscriptionDowngrade' });
    await w.receive(invoice.invoiceId);
    expect(await w.row(subscriptionId)).toMatchObject({ plan_id: '20' });
    await to(sub.currentPeriodEnd);
    expect(await w.row(subscriptionId)).toMatchObject({
      plan_id: '10',
      amount: '10000',
      pending_update_id: '',
      status: 'active',
      current_period_start: String(sub.currentPeriodEnd),
    });
    expect(await w.update(subscriptionPendingUpdate?.pendingUpdateId ?? '')).toMatchObject({
      status: pendingUpdateStatus.finished,
    });
  });

  it('is billed with the tax percentage and by the gateway that it names', async () => {
    const sub = await w.active({ planId: plans.large });
    const { gatewayId } = await w.sandbox();
    await w.change(sub, { ...small, taxPercentage: 1900, gatewayId });
    const previewed = await previewOf(sub);
    expect(previewed).toMatchObject({ totalAmount: 11_900, taxAmount: 1900, gatewayId });
    await to(sub.currentPeriodEnd - 3 * DAY);
    expect(await next(sub)).toMatchObject({ totalAmount: 11_900, taxAmount: 1900, gatewayId });
  });

  it('replaces the open invoice of the next period when that begins', async () => {
    const sub = await w.active({ planId: plans.large });
    await to(sub.currentPeriodEnd - 3 * DAY);
    const open = await next(sub);
    expect(open).toMatchObject({ totalAmount: 20_000, status: invoiceStatus.processing });
    await w.change(sub, small);
    await to(sub.currentPeriodEnd);
    expect(await w.detail(open.invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
    const again = await next(sub);
    expect(again).toMatchObject({ totalAmount: 10_000, status: invoiceStatus.processing });
    await w.receive(again.invoiceId);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '10', status: 'active' });
  });

  it('credits a next period that is paid in full, and charges it anew', async () => {
    const sub = await w.active({ planId: plans.large });
    await to(sub.currentPeriodEnd - 3 * DAY);
    const paid = await next(sub);
    await w.receive(paid.invoiceId);
    const { nextPeriodInvoice } = await w.preview(sub, small);
    await w.change(sub, small);
    const previewed = await previewOf(sub);
    expect(previewed.invoiceId).toBe('');
    expect(amounts(nextPeriodInvoice)).toEqual(amounts(previewed));
    await to(sub.currentPeriodEnd);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '10', status: 'active' });
    const note = (await w.creditNotes()).find(({ subscriptionId }) => subscriptionId === sub.subscriptionId);
    expect(amounts(note)).toEqual({
      totalAmount: -10_000,
      invoiceName: 'SubscriptionDowngrade',
      nets: [-20_000, 10_000],
    });
    expect(amounts(previewed)).toEqual(amounts(note));
    expect(await w.balance(sub.userId)).toBe(10_000);
  });

  it('of another interval counts periods from the end of the present one', async () => {
    const sub = await w.active();
    await w.change(sub, { newPlanId: plans.yearly, effectImmediate: 2 });
    await to(sub.currentPeriodEnd - 3 * DAY);
    await w.receive((await next(sub)).invoiceId);
    await to(sub.currentPeriodEnd);
    const row = await w.row(sub.subscriptionId);
    expect(row).toMatchObject({ plan_id: '30', anchor: String(sub.currentPeriodEnd), period_no: 1 });
    expect(Number(row.current_period_end) - sub.currentPeriodEnd).toBe(365 * DAY);
  });
});

describe('a change inside the lead window', () => {
  it('has the open invoice of the next period made again under the new plan', async () => {
    const sub = await w.active();
    await to(sub.currentPeriodEnd - 2 * DAY);
    const open = await next(sub);
    const { invoiceId } = await w.change(sub, {});
    await w.receive(invoiceId);
    await w.drain();
    expect(await w.detail(open.invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
    expect(await next(sub)).toMatchObject({ totalAmount: 20_000, status: invoiceStatus.processing });
    expect(await w.periods(sub.subscriptionId)).toMatchObject([
      { state: 'paid' },
      { state: 'void' },
      { state: 'open', start_at: String(sub.currentPeriodEnd) },
    ]);
  });

  it('credits the next period, where it is paid, and charges it under the new plan', async () => {
    const sub = await w.active();
    const { currentPeriodStart: start, currentPeriodEnd: end } = sub;
    await to(end - 3 * DAY);
    await w.receive((await next(sub)).invoiceId);
    const part = Math.round((10_000 * (end - w.clock.now())) / (end - start));
    const { invoiceId } = await w.change(sub, {});
    expect(await w.linesOf(invoiceId)).toEqual(
      [-part, 2 * part, -10_000, 20_000].map(amount => expect.closeTo(amount, -1)),
    );
    await w.receive(invoiceId);
    await to(end);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '20', current_period_start: String(end) });
  });
});

it('a next period that is paid is not previewed again: the one after it is, with a change too', async () => {
  const sub = await w.active();
  await to(sub.currentPeriodEnd - 3 * DAY);
  const { invoiceId } = await next(sub);
  expect((await previewOf(sub)).invoiceId).toBe(invoiceId);
  await w.receive(invoiceId);
  const { periodEnd: paidUntil } = await w.detail(invoiceId);
  expect(await previewOf(sub)).toMatchObject({ invoiceId: '', totalAmount: 10_000, periodStart: paidUntil });
  const { nextPeriodInvoice } = await w.preview(sub, {});
  expect(nextPeriodInvoice).toMatchObject({ totalAmount: 20_000, periodStart: paidUntil });
});

it('a change of an incomplete subscription replaces the invoice of the period that began unpaid', async () => {
  const sub = await w.active();
  await to(sub.currentPeriodEnd + 3600);
  expect(await w.row(sub.subscriptionId)).toMatchObject({ status: 'incomplete' });
  const open = await next(sub);
  const made = await w.change(sub, {});
  expect(await w.detail(open.invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
  const again = await next(sub);
  expect(again).toMatchObject({ invoiceId: made.invoiceId, totalAmount: 20_000, periodEnd: open.periodEnd });
  await w.receive(made.invoiceId);
  expect(await w.row(sub.subscriptionId)).toMatchObject({
    status: 'active',
    plan_id: '20',
    current_period_start: String(sub.currentPeriodEnd),
  });
});

it('a change of an incomplete subscription to another interval begins with the unpaid period', async () => {
  const sub = await w.active({ planId: plans.yearly });
  await to(sub.currentPeriodEnd + 3600);
  const request = { newPlanId: plans.small };
  const { invoice: previewed } = await w.preview(sub, request);
  const made = await w.change(sub, request);
  const again = await next(sub);
  const end = boundary(sub.currentPeriodEnd, 1, { unit: 'month', count: 1 }, 'UTC');
  const period = { periodStart: sub.currentPeriodEnd, periodEnd: end };
  expect(again).toMatchObject({ invoiceId: made.invoiceId, totalAmount: 10_000, ...period });
  expect(previewed).toMatchObject({ invoiceName: again.invoiceName, totalAmount: 10_000, ...period });
  await w.receive(made.invoiceId);
  const current = { current_period_start: String(period.periodStart), current_period_end: String(end) };
  expect(await w.row(sub.subscriptionId)).toMatchObject({ status: 'active', ...current });
  await to(end - DAY);
  expect(await next({ ...sub, currentPeriodEnd: end })).toMatchObject({ totalAmount: 10_000, periodStart: end });
});

it('a change of an incomplete subscription waits while its invoice is cancelled', async () => {
  const sub = await w.active();
  await to(sub.currentPeriodEnd + 3600);
  await w.t.done(cancelInvoice, { invoiceId: (await next(sub)).invoiceId });
  const why = `The invoice of the current period of subscription ${sub.subscriptionId} is cancelled: change it once it is made again`;
  expect(await w.tryChange(sub)).toMatchObject({ slug: 'subscription_wrong_state', message: why });
  await to(w.clock.now() + DAY / 2);
  expect((await w.change(sub, {})).invoiceId).not.toBe('');
});

it('an end with the period credits a next period that is paid', async () => {
  const sub = await w.active();
  await to(sub.currentPeriodEnd - 3 * DAY);
  await w.receive((await next(sub)).invoiceId);
  await w.t.done(cancelAtPeriodEnd, { subscriptionId: sub.subscriptionId });
  await to(sub.currentPeriodEnd);
  expect(await w.row(sub.subscriptionId)).toMatchObject({ status: 'cancelled' });
  expect(await w.balance(sub.userId)).toBe(10_000);
});
