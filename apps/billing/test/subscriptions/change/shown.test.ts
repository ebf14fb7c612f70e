import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelInvoice,
  clearInvoicePayment,
  listPaymentTimeline,
  listRefunds,
  listTimelines,
  markWireTransferSuccess,
  paymentDetail,
  paymentStatus,
  refundInvoice,
  splitPayments,
  subscriptionTimelineStatus,
} from '@recur/contracts';
import { plans, roundPrices, type World, world } from '../../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

it('a timeline has the changes inside a period, beside the period', async () => {
  const sub = await w.active({ quantity: 1 });
  const { subscriptionId, userId } = sub;
  const addonParams = [{ addonPlanId: plans.addon, quantity: 2 }];
  const times: number[] = [];
  for (const request of [
    { newPlanId: plans.large, quantity: 2 },
    { newPlanId: plans.large, quantity: 3, addonParams },
  ]) {
    w.clock.advance(3 * 86_400);
    times.push(w.clock.now());
    const { invoiceId } = await w.change(sub, { ...request, effectImmediate: 1 });
    await w.receive(invoiceId);
  }
  const listed = (over: object) => w.t.done(listTimelines, { userId, ...over });
  const { subscriptionTimeLines: lines, total } = await listed({ sortField: 'periodStart', sortType: 'asc' });
  const { currentPeriodStart: start, currentPeriodEnd: periodEnd } = sub;
  expect(total).toBe(3);
  expect(lines).toMatchObject([
    { uniqueId: `${subscriptionId}_1`, periodStart: start, periodEnd, planId: plans.small, addons: [] },
    {
      subscriptionId,
      userId,
      periodStart: times[0],
      periodEnd,
      planId: plans.large,
      quantity: 2,
      status: subscriptionTimelineStatus.finished,
    },
    {
      periodStart: times[1],
      periodEnd,
      planId: plans.large,
      quantity: 3,
      addons: [{ quantity: 2 }],
      paymentId: expect.stringMatching('pay_'),
    },
  ]);
  expect((await listed({})).subscriptionTimeLines).toEqual(lines.toReversed());
  const pages = [];
  for (const page of [0, 1, 2, 3]) pages.push(...(await listed({ page, count: 1 })).subscriptionTimeLines);
  expect(pages).toEqual(lines.toReversed());
  expect(await w.t.done(listTimelines, { userId }, { merchantId: 9 })).toEqual({ subscriptionTimeLines: [], total: 0 });
});

describe('payments', () => {
  it('and refunds name the subscription of their invoice', async () => {
    const { subscriptionId, latestInvoiceId: invoiceId, userId } = await w.active();
    const { payment } = await w.detail(invoiceId);
    const paymentId = payment?.paymentId ?? '';
    expect(payment).toMatchObject({ subscriptionId });
    const { paymentDetail: shown } = await w.t.done(paymentDetail, { paymentId });
    expect(shown.payment).toMatchObject({ subscriptionId });
    const { refund } = await w.t.done(refundInvoice, { invoiceId, refundAmount: 1000, reason: 'r' });
    expect(refund).toMatchObject({ subscriptionId });
    const { refundDetails } = await w.t.done(listRefunds, { paymentId });
    expect(refundDetails.map(one => one.refund?.subscriptionId)).toEqual([subscriptionId]);
    const { paymentTimeLines } = await w.t.done(listPaymentTimeline, { userId });
    expect(paymentTimeLines.map(one => one.subscriptionId)).toEqual([subscriptionId, subscriptionId]);
  });

  it('of an invoice: the current one, the one that succeeded, none once it is cancelled', async () => {
    const split = (invoiceId: string) => w.t.done(splitPayments, { invoiceId });
    const { invoiceId, paymentId } = await w.create();
    const open = {
      paymentId,
      splitSequence: 1,
      totalAmount: 10_000,
      currency: 'EUR',
      status: paymentStatus.created,
      paidTime: 0,
    };
    expect(await split(invoiceId)).toMatchObject({
      payments: [
        {
          ...open,
          gatewayId: w.gateway.gatewayId,
          gatewayName: 'wire_transfer',
          link: expect.stringMatching('/portal/invoice/'),
        },
      ],
      totalAmount: 10_000,
      paidAmount: 0,
      remainingAmount: 10_000,
    });
    await w.t.done(markWireTransferSuccess, {
      invoiceId,
      transferNumber: 'T',
      amountReceived: 9900,
      acceptShort: true,
    });
    expect(await split(invoiceId)).toMatchObject({
      payments: [{ paymentId, status: paymentStatus.success, paidTime: w.clock.now() }],
      totalAmount: 10_000,
      paidAmount: 9900,
      remainingAmount: 0,
    });
    const other = await w.create();
    await w.t.done(clearInvoicePayment, { invoiceId: other.invoiceId });
    expect(await split(other.invoiceId)).toMatchObject({ payments: [], remainingAmount: 10_000 });
    await w.t.done(cancelInvoice, { invoiceId: other.invoiceId });
    expect(await split(other.invoiceId)).toMatchObject({ payments: [], paidAmount: 0, remainingAmount: 0 });
    expect(await w.t.call(splitPayments, { invoiceId: 'in_x' })).toMatchObject({ slug: 'invoice_not_found' });
    expect(await w.t.call(splitPayments, { invoiceId }, { merchantId: 9 })).toMatchObject({
      slug: 'invoice_not_found',
    });
  });
});
