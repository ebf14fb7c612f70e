import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { invoiceStatus, previewChange, submitChange } from '@recur/contracts';
import { type Subscribers, subscribers } from '../../world/clock.js';
import { roundPrices, type World, world } from '../../world/subscriptions.js';

let w: World;
let s: Subscribers;
beforeAll(async () => {
  w = await world(roundPrices);
  s = await subscribers();
});
afterAll(() => Promise.all([w.t.close(), s.t.close()]));

it('a preview of a change that takes the place of an unpaid one is what its submit bills', async () => {
  const sub = await w.active();
  await w.at(sub, 0.4);
  const first = await w.change(sub, {});
  expect(await w.linesOf(first.invoiceId)).toEqual([-6000, 12_000]);
  const preview = await w.preview(sub, { quantity: 2 });
  expect(preview.invoice.lines.map(line => line.amountExcludingTax)).toEqual([-6000, 24_000]);
  expect((await w.detail(first.invoiceId)).status).toBe(invoiceStatus.processing);
  const confirmed = { prorationDate: preview.prorationDate, confirmTotalAmount: preview.totalAmount };
  const second = await w.change(sub, { quantity: 2, ...confirmed });
  expect(await w.linesOf(second.invoiceId)).toEqual([-6000, 24_000]);
});

it('a preview is refused as its submit is while the next period is paid as a deferred change sells it', async () => {
  await s.anew('2026-01-31');
  const [large, small] = [s.plan({ amount: 2000 }), s.plan({ amount: 1000 })];
  const { id: subscriptionId } = await s.subscribe({ userId: await s.userWithCard(), planId: large });
  const change = { subscriptionId, newPlanId: small, quantity: 1 };
  await s.t.done(submitChange, change, s.merchant);
  await s.to('2026-02-27T23:00');
  expect((await s.invoices(subscriptionId)).at(-1)).toContain('paid 02-28 03-31 1000');
  const refusal = { slug: 'subscription_wrong_state', message: expect.stringContaining('is paid with its pending') };
  for (const effectImmediate of [0, 1, 2]) {
    const another = { ...change, quantity: 3, effectImmediate };
    expect(await s.t.call(previewChange, another, s.merchant)).toMatchObject(refusal);
    expect(await s.t.call(submitChange, another, s.merchant)).toMatchObject(refusal);
  }
});
