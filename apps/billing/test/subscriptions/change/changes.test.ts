import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { invoiceStatus, listPendingUpdates, pendingUpdateEffect, pendingUpdateStatus } from '@recur/contracts';
import { plans, roundPrices, type World, world } from '../../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

describe('an upgrade', () => {
  it('bills what it previews, takes effect when it is paid, and ends the lines that it credits', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const preview = await w.preview(sub, {});
    expect(preview).toMatchObject({ totalAmount: 5000, currency: 'EUR', discountMessage: '' });
    expect(preview.nextPeriodInvoice).toMatchObject({ totalAmount: 20_000, invoiceName: 'SubscriptionCycle' });
    await w.types();
    const { prorationDate } = preview;
    const made = await w.change(sub, {
      prorationDate,
      confirmTotalAmount: preview.totalAmount,
      confirmCurrency: 'EUR',
    });
    expect(made).toMatchObject({
      paid: false,
      subscriptionPendingUpdate: {
        status: pendingUpdateStatus.pending,
        effectImmediate: pendingUpdateEffect.now,
        prorationAmount: 5000,
        updatePlanId: plans.large,
      },
    });
    expect(await w.types()).toEqual([
      'invoice.updated 4',
      'invoice.created 1',
      'invoice.process 2',
      'payment.created 1',
      'subscription.pending_update.create 1',
      'subscription.updated 3',
      'operation.logged 1',
    ]);
    const invoice = await w.detail(made.invoiceId);
    expect(invoice).toMatchObject({
      invoiceName: 'SubscriptionUpgrade',
      status: invoiceStatus.processing,
      prorationDate,
    });
    const bare = (lines: typeof invoice.lines) => lines.map(({ lineId: _, ...line }) => line);
    expect(bare(invoice.lines)).toEqual(bare(preview.invoice.lines));
    expect(await w.linesOf(made.invoiceId)).toEqual([-5000, 10_000]);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '10', amount: '10000' });

    await w.receive(made.invoiceId);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '20', amount: '20000', pending_update_id: '' });
    const id = made.subscriptionPendingUpdate?.pendingUpdateId ?? '';
    expect(await w.update(id)).toMatchObject({
      status: pendingUpdateStatus.finished,
      paid: 1,
      invoiceId: made.invoiceId,
    });
    expect(await w.types()).toEqual(
      expect.arrayContaining(['subscription.pending_update.success 2', 'subscription.updated 4']),
    );

    await w.at(sub, 0.75);
    const more = await w.change(sub, { quantity: 2 });
    // what the first change charged is credited, and not the first invoice again
    expect(await w.linesOf(more.invoiceId)).toEqual([-5000, 10_000]);
    expect((await w.detail(more.invoiceId)).lines[0]?.sourceLineId).toBe(`${made.invoiceId}_2`);
  });

  it('is superseded by the next one, whose credit is not less for it', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const first = await w.change(sub, {});
    await w.types();
    const second = await w.change(sub, { newPlanId: plans.small, quantity: 3 });
    expect(await w.types()).toEqual(
      expect.arrayContaining(['subscription.pending_update.cancelled 2', 'invoice.cancelled 3']),
    );
    expect(await w.detail(first.invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
    expect(await w.linesOf(second.invoiceId)).toEqual([-5000, 15_000]);
    const { subscriptionPendingUpdates: updates, total } = await w.t.done(listPendingUpdates, {
      subscriptionId: sub.subscriptionId,
    });
    expect([total, updates.map(({ status }) => status)]).toEqual([2, [1, 3]]);
    const [source] = await w.t.rows('select credited_net from invoice_lines where invoice_id = $1', [
      sub.latestInvoiceId,
    ]);
    expect(source).toMatchObject({ credited_net: '5000' });
  });

  it('lapses unpaid when its transfer is due, and gives back what it had credited', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const made = await w.change(sub, {});
    w.clock.advance(3 * 86_400 - 1);
    await w.drain();
    expect(await w.detail(made.invoiceId)).toMatchObject({ status: invoiceStatus.processing });
    await w.types();
    w.clock.advance(1);
    await w.drain();
    expect(await w.detail(made.invoiceId)).toMatchObject({ status: invoiceStatus.cancelled });
    const id = made.subscriptionPendingUpdate?.pendingUpdateId ?? '';
    expect(await w.update(id)).toMatchObject({ status: pendingUpdateStatus.cancelled, paid: 0 });
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '10', pending_update_id: '' });
    const [source] = await w.t.rows('select credited_net, end_at from invoice_lines where invoice_id = $1', [
      sub.latestInvoiceId,
    ]);
    expect(source).toMatchObject({ credited_net: '0', end_at: String(sub.currentPeriodEnd) });
  });

  it('to another interval starts a new period, and the rows tile time', async () => {
    const sub = await w.active();
    await w.at(sub, 0.5);
    const { invoiceId } = await w.change(sub, { newPlanId: plans.yearly });
    expect(await w.linesOf(invoiceId)).toEqual([-5000, 90_000]);
    await w.receive(invoiceId);
    const now = String(w.clock.now());
    const row = await w.row(sub.subscriptionId);
    expect(row).toMatchObject({ current_period_start: now, anchor: now, period_no: 1 });
    expect(await w.periods(sub.subscriptionId)).toEqual([
      { kind: 'cycle', start_at: String(sub.currentPeriodStart), end_at: now, state: 'paid' },
      { kind: 'cycle', start_at: now, end_at: row.current_period_end, state: 'paid' },
    ]);
  });

  it('without proration takes effect at once, and without lines', async () => {
    const sub = await w.active();
    await w.t.rows('update subscription_settings set upgrade_proration = false');
    await w.at(sub, 0.5);
    const { paid, invoiceId } = await w.change(sub, { newPlanId: plans.small, quantity: 1, effectImmediate: 1 });
    expect([paid, invoiceId]).toEqual([true, '']);
  });
});

describe('a downgrade', () => {
  it('waits for the end of the period, with the next invoice at the new price', async () => {
    const sub = await w.active({ planId: plans.large });
    const preview = await w.preview(sub, { newPlanId: plans.small });
    expect(preview).toMatchObject({ totalAmount: 0, invoice: { lines: [] } });
    expect(preview.nextPeriodInvoice).toMatchObject({ totalAmount: 10_000, invoiceName: 'SubscriptionDowngrade' });
    const made = await w.change(sub, { newPlanId: plans.small });
    expect(made).toMatchObject({
      paid: false,
      invoiceId: '',
      subscriptionPendingUpdate: {
        status: pendingUpdateStatus.pending,
        effectImmediate: pendingUpdateEffect.periodEnd,
        effectTime: sub.currentPeriodEnd,
      },
    });
    expect(await w.row(sub.subscriptionId)).toMatchObject({
      plan_id: '20',
      pending_update_id: made.subscriptionPendingUpdate?.pendingUpdateId,
    });
  });

  it('that is asked for now is a credit note, whose total goes to main credit', async () => {
    const sub = await w.active({ planId: plans.large });
    await w.at(sub, 0.5);
    const made = await w.change(sub, { newPlanId: plans.small, effectImmediate: 1, confirmTotalAmount: -5000 });
    expect(made).toMatchObject({
      paid: true,
      link: '',
      subscriptionPendingUpdate: { status: pendingUpdateStatus.finished },
    });
    expect(await w.balance(sub.userId)).toBe(5000);
    expect(await w.row(sub.subscriptionId)).toMatchObject({ plan_id: '10' });
    const note = (await w.creditNotes()).find(({ invoiceId }) => invoiceId === made.invoiceId);
    expect(note).toMatchObject({ totalAmount: -5000, status: invoiceStatus.paid });
    // the charge line of the credit note is what a later change credits; the credit pays for it
    await w.at(sub, 0.75);
    const back = await w.change(sub, {});
    expect(back).toMatchObject({ paid: true, subscriptionPendingUpdate: { status: pendingUpdateStatus.finished } });
    expect(await w.linesOf(back.invoiceId)).toEqual([-2500, 5000]);
    expect(await w.balance(sub.userId)).toBe(2500);
  });
});
