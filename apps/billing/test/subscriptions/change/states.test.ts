import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  archiveGateway,
  cancelPayment,
  invoiceStatus,
  listPendingUpdates,
  markWireTransferSuccess,
  pendingUpdateDetail,
  pendingUpdateStatus,
  planStatus,
  planType,
  previewChange,
  submitChange,
} from '@recur/contracts';
import { DAY, plans, roundPrices, type World, world } from '../../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

describe('a change in another state', () => {
  it('of a trial is switched at once, and the trial stays', async () => {
    const { subscription: sub } = await w.create({ planId: plans.trial });
    expect(await w.row(sub.subscriptionId)).toMatchObject({ status: 'active' });
    const made = await w.change(sub, { quantity: 2 });
    expect(made).toMatchObject({
      paid: true,
      invoiceId: '',
      subscriptionPendingUpdate: { status: pendingUpdateStatus.finished, prorationAmount: 0 },
    });
    expect(await w.row(sub.subscriptionId)).toMatchObject({
      plan_id: '20',
      quantity: 2,
      amount: '40000',
      trial_end: String(sub.trialEnd),
      current_period_end: String(sub.currentPeriodEnd),
    });
  });

  it('of an incomplete one replaces its open invoice, with the same period and deadline', async () => {
    const { subscription: sub, invoiceId } = await w.create({ startIncomplete: true });
    const [before] = await w.t.rows('select deadline from invoices where invoice_id = $1', [invoiceId]);
    const made = await w.change(sub, {});
    expect(made).toMatchObject({ paid: false, subscriptionPendingUpdate: { status: pendingUpdateStatus.finished } });
    expect(await w.detail(invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
    const again = await w.detail(made.invoiceId);
    expect(again).toMatchObject({
      status: invoiceStatus.processing,
      totalAmount: 20_000,
      invoiceName: 'SubscriptionCreate',
    });
    expect([again.periodStart, again.periodEnd]).toEqual([sub.currentPeriodStart, sub.currentPeriodEnd]);
    const [after] = await w.t.rows('select deadline, period_seq from invoices where invoice_id = $1', [made.invoiceId]);
    expect(after).toEqual({ ...before, period_seq: 2 });
    expect(await w.row(sub.subscriptionId)).toMatchObject({
      status: 'incomplete',
      plan_id: '20',
      pending_update_id: '',
      latest_invoice_id: made.invoiceId,
    });
    await w.receive(made.invoiceId);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ status: 'active' });
  });

  it('is refused before the first payment, and after the end', async () => {
    const { subscription: sub } = await w.create();
    expect(await w.tryChange(sub)).toMatchObject({ slug: 'subscription_wrong_state' });
    await w.t.rows(`update subscriptions set status = 'cancelled' where subscription_id = $1`, [sub.subscriptionId]);
    expect(await w.tryChange(sub)).toMatchObject({ slug: 'subscription_wrong_state' });
    expect(await w.t.call(previewChange, { ...sub, newPlanId: plans.large })).toMatchObject({
      slug: 'subscription_wrong_state',
    });
  });

  it('is refused at the end of a period that is the last; at once it is fine', async () => {
    const sub = await w.active({ planId: plans.large });
    await w.t.rows('update subscriptions set cancel_at_period_end = true where subscription_id = $1', [
      sub.subscriptionId,
    ]);
    expect(await w.tryChange(sub, { newPlanId: plans.small })).toMatchObject({ slug: 'subscription_wrong_state' });
    await w.at(sub, 0.5);
    const made = await w.change(sub, { newPlanId: plans.small, effectImmediate: 1 });
    expect(made).toMatchObject({ paid: true });
  });
});

describe('a payment of a change that is cancelled', () => {
  it('cancels the change, and what was credited can be credited again', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const { paymentId, subscriptionPendingUpdate } = await w.change(sub, {});
    await w.types();
    await w.t.done(cancelPayment, { paymentId });
    expect(await w.types()).toContain('subscription.pending_update.cancelled 2');
    expect(await w.update(subscriptionPendingUpdate?.pendingUpdateId ?? '')).toMatchObject({
      status: pendingUpdateStatus.cancelled,
    });
    const again = await w.change(sub, {});
    expect(await w.linesOf(again.invoiceId)).toEqual([-5000, 10_000]);
  });
});

describe('a quote', () => {
  it('holds for an hour, within the period', async () => {
    const sub = await w.active();
    w.clock.advance(2 * 3600);
    const now = w.clock.now();
    const { prorationDate } = await w.preview(sub, { prorationDate: now - 3600 });
    expect(prorationDate).toBe(now - 3600);
    for (const wrong of [now - 3601, now + 1]) {
      expect(await w.tryChange(sub, { prorationDate: wrong })).toMatchObject({ slug: 'invalid_parameters' });
    }
  });

  it('is compared: another total is refused, and another currency', async () => {
    const sub = await w.active();
    expect(await w.tryChange(sub, { confirmTotalAmount: 1 })).toMatchObject({ slug: 'total_changed' });
    expect(await w.tryChange(sub, { confirmCurrency: 'USD' })).toMatchObject({ slug: 'invalid_parameters' });
  });
});

describe('a change is refused', () => {
  it('for what is not there', async () => {
    const sub = await w.active();
    const unknown = { subscriptionId: 'sub_none' };
    expect(await w.tryChange(unknown)).toMatchObject({ slug: 'subscription_not_found' });
    expect(await w.tryChange({ subscriptionId: '' }, { userId: 77_777 })).toMatchObject({
      slug: 'subscription_not_found',
    });
    expect(await w.t.call(previewChange, { ...unknown, newPlanId: 10 })).toMatchObject({
      slug: 'subscription_not_found',
    });
    expect(await w.t.call(listPendingUpdates, unknown)).toMatchObject({ slug: 'subscription_not_found' });
    const none = { subscriptionPendingUpdateId: 'subup_none' };
    expect(await w.t.call(pendingUpdateDetail, none)).toMatchObject({ slug: 'pending_update_not_found' });
    for (const given of [{ newPlanId: 999 }, { addonParams: [{ addonPlanId: 999, quantity: 1 }] }]) {
      expect(await w.tryChange(sub, given)).toMatchObject({ slug: 'plan_not_found' });
    }
    expect(await w.tryChange(sub, { gatewayId: 999 })).toMatchObject({ slug: 'gateway_not_found' });
  });

  it('for what may not be sold, or cannot be collected', async () => {
    const { gatewayId } = await w.sandbox();
    await w.t.done(archiveGateway, { gatewayId });
    w.knowPlan(80, { amount: 5000, status: planStatus.softArchived, type: planType.main });
    const sub = await w.active();
    const cases = [
      [{ newPlanId: 80 }, 'plan_not_active'],
      [{ newPlanId: 999 }, 'plan_not_found'],
      [{ gatewayId }, 'gateway_archived'],
      [{ gatewayId: 999 }, 'gateway_not_found'],
    ] as const;
    for (const [given, slug] of cases) {
      expect(await w.tryChange(sub, given)).toMatchObject({ slug });
      const previewed = { subscriptionId: sub.subscriptionId, newPlanId: plans.large, ...given };
      expect(await w.t.call(previewChange, previewed)).toMatchObject({ slug });
    }
    w.knowPlan(81, { amount: 50, type: planType.main, intervalUnit: 'month', intervalCount: 1 });
    const { subscription } = await w.create({ startIncomplete: true });
    expect(await w.tryChange(subscription, { newPlanId: 81 })).toMatchObject({ slug: 'amount_below_minimum' });
  });

  it('for what does not fit', async () => {
    const sub = await w.active();
    for (const given of [
      { newPlanId: plans.other },
      { newPlanId: plans.dollars },
      { newPlanId: plans.addon },
      { addonParams: [{ addonPlanId: plans.large, quantity: 1 }] },
      { newPlanId: plans.dollars, currency: 'USD', effectImmediate: 1 },
      { newPlanId: plans.small, discountCode: 'NONE' },
      { subscriptionId: '', userId: 0 },
    ]) {
      expect(await w.tryChange(sub, given)).toMatchObject({ slug: 'invalid_parameters' });
    }
  });
});

describe('a change below the minimum of the gateway', () => {
  it('takes effect without a document: its lines are carried to the next invoice', async () => {
    const sub = await w.active();
    w.knowPlan(82, { amount: 10_100, type: planType.main, intervalUnit: 'month', intervalCount: 1 });
    await w.at(sub, 0.5);
    const made = await w.change(sub, { newPlanId: 82 });
    expect(made).toMatchObject({
      paid: true,
      invoiceId: '',
      subscriptionPendingUpdate: { status: pendingUpdateStatus.finished },
    });
    const { carried_lines: carried, plan_id } = await w.row(sub.subscriptionId);
    expect([plan_id, (carried as { amount: number }[]).map(line => line.amount)]).toEqual(['82', [-5000, 5050]]);
  });
});

describe('submits at one time', () => {
  it('leave one unfinished change, whichever comes last', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const made = await Promise.all(Array.from({ length: 8 }, (_, i) => w.change(sub, { quantity: i + 1 })));
    const updates = await Promise.all(
      made.map(({ subscriptionPendingUpdate: update }) => w.update(update?.pendingUpdateId ?? '')),
    );
    expect(updates.filter(({ status }) => status === pendingUpdateStatus.pending)).toHaveLength(1);
    expect(updates.filter(({ status }) => status === pendingUpdateStatus.cancelled)).toHaveLength(7);
    const [source] = await w.t.rows('select credited_net from invoice_lines where invoice_id = $1', [
      sub.latestInvoiceId,
    ]);
    expect(source).toMatchObject({ credited_net: '5000' });
  });

  it('that ask for the same are one change, with one invoice', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const made = await Promise.all(Array.from({ length: 16 }, () => w.change(sub, {})));
    expect(new Set(made.map(({ invoiceId }) => invoiceId)).size).toBe(1);
    expect(new Set(made.map(({ subscriptionPendingUpdate: update }) => update?.pendingUpdateId)).size).toBe(1);
    const [{ prorationAmount = 0 } = {}] = made.map(({ subscriptionPendingUpdate: update }) => update ?? {});
    expect(await w.change(sub, { confirmTotalAmount: prorationAmount })).toMatchObject({
      invoiceId: made[0]?.invoiceId,
    });
    expect(await w.tryChange(sub, { confirmTotalAmount: prorationAmount + 1 })).toMatchObject({
      slug: 'total_changed',
    });
    const rows = await w.t.rows(
      `select count(*)::integer as invoices from invoices where subscription_id = $1 and kind = 'invoice'`,
      [sub.subscriptionId],
    );
    expect(rows).toEqual([{ invoices: 2 }]);
  });

  it('and a payment: the change that was paid takes effect, or was superseded', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const first = await w.change(sub, {});
    const [paid, second] = await Promise.all([
      w.t.call(markWireTransferSuccess, { invoiceId: first.invoiceId, transferNumber: 'T-1' }),
      w.t.call(submitChange, { subscriptionId: sub.subscriptionId, newPlanId: plans.large, quantity: 2 }),
    ]);
    const { plan_id } = await w.row(sub.subscriptionId);
    expect(second.ok).toBe(true);
    expect([paid.ok, plan_id]).toEqual(paid.ok ? [true, '20'] : [false, '10']);
    expect((await w.update(first.subscriptionPendingUpdate?.pendingUpdateId ?? '')).status).toBe(paid.ok ? 2 : 3);
  });
});

describe('a discount', () => {
  it('that recurs reduces the charge lines of a change, and no credit', async () => {
    await w.code('HALF', { discountPercentage: 5000 });
    const sub = await w.active({ discountCode: 'HALF' });
    await w.at(sub, 0.5);
    const { invoiceId } = await w.change(sub, {});
    const invoice = await w.detail(invoiceId);
    expect(invoice.lines.map(line => [line.amountExcludingTax, line.discountAmount])).toEqual([
      [-2500, 0],
      [10_000, 5000],
    ]);
    expect(invoice.totalAmount).toBe(2500);
  });

  it('for upgrades is taken with one, and binds where it recurs', async () => {
    await w.code('UP', { upgradeOnly: true });
    const sub = await w.active();
    await w.at(sub, 0.5);
    const preview = await w.preview(sub, { discountCode: 'UP' });
    expect(preview).toMatchObject({ totalAmount: 4000, discountAmount: 1000, discountMessage: '' });
    const { invoiceId } = await w.change(sub, { discountCode: 'UP', confirmTotalAmount: 4000 });
    await w.receive(invoiceId);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ discount: { code: 'UP', recurring: true } });
    expect(DAY).toBe(86_400);
  });
});
