import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { refundInvoice } from '@recur/contracts';
import { type World, world } from '../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world();
});
afterAll(() => w.t.close());

it('a refund ends the subscription that the invoice bills where it is asked to, once', async () => {
  const { subscriptionId } = await w.active();
  const { latestInvoice } = await w.shown(subscriptionId);
  const refund = (over: object = {}) =>
    w.t.done(refundInvoice, { invoiceId: latestInvoice?.invoiceId, refundAmount: 100, reason: 'Late', ...over });
  await refund();
  expect(await w.statusOf(subscriptionId)).toBe(2);
  await w.t.emitted();
  await refund({ cancelSubscription: true });
  expect((await w.t.emitted()).map(({ type }) => type)).toContain('subscription.cancelled');
  expect(await w.statusOf(subscriptionId)).toBe(4);
  await refund({ cancelSubscription: true });
  expect(await w.statusOf(subscriptionId)).toBe(4);
});
