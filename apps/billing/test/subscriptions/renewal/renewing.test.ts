import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { cancelSubscription, planStatus, renewSubscription, userStatus } from '@recur/contracts';
import { type Subscribers, subscribers } from '../../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-01-31'));

/** A subscription that was cancelled. */
async function over(planId = s.plan()) {
  const userId = await s.userWithCard();
  const { id: subscriptionId } = await s.subscribe({ userId, planId });
  await s.t.done(cancelSubscription, { subscriptionId }, s.merchant);
  const renew = (terms = {}) => s.t.call(renewSubscription, { subscriptionId, ...terms }, s.merchant);
  return { userId, planId, subscriptionId, renew };
}

it('is not renewed at a gateway that cannot charge it', async () => {
  const { renew } = await over();
  expect(await renew({ gatewayId: 999 })).toMatchObject({ slug: 'gateway_not_found' });
  await s.t.rows('update gateways set archived = true where gateway_id = $1', [s.gatewayId()]);
  expect(await renew()).toMatchObject({ slug: 'gateway_archived' });
});

it('is not renewed below the minimum of its gateway', async () => {
  const { renew } = await over();
  const setMinimum = `update gateways set minimum_amount = 5000, currency = 'EUR' where gateway_id = $1`;
  await s.t.rows(setMinimum, [s.gatewayId()]);
  expect(await renew()).toMatchObject({ slug: 'amount_below_minimum' });
});

it('is not renewed on a plan that is no longer sold, nor for a user who is suspended or gone', async () => {
  const { renew, userId, planId, subscriptionId } = await over();
  s.knowPlan(planId, { status: planStatus.softArchived }, s.merchant.merchantId);
  await s.t.rows('delete from plan_copies where id = $1', [planId]);
  expect(await renew()).toMatchObject({ slug: 'plan_not_active' });
  s.knowUser(userId, { status: userStatus.suspended }, s.merchant.merchantId);
  await s.t.rows('delete from user_copies where merchant_id = $1', [s.merchant.merchantId]);
  expect(await renew()).toMatchObject({ slug: 'user_inactive' });
  await s.t.rows('update subscriptions set user_id = 99999 where subscription_id = $1', [subscriptionId]);
  expect(await renew()).toMatchObject({ slug: 'user_not_found' });
});
