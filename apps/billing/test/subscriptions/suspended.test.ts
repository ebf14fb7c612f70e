import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  newOnetimeAddonPayment,
  planType,
  portalUpdatePreview,
  portalUpdateSubmit,
  previewChange,
  submitChange,
  userStatus,
} from '@recur/contracts';
import { visitor } from '../world/shop.js';
import { type World, world } from '../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world();
});
afterAll(() => w.t.close());

it('nothing is sold to a user who is suspended: neither a change nor an add-on', async () => {
  w.knowPlan(12, { amount: 700, type: planType.onetimeAddon, planName: 'Setup' });
  w.knowPlan(13, {
    amount: 9000,
    intervalUnit: 'month',
    intervalCount: 1,
    type: planType.main,
    bindingOnetimeAddonIds: '12',
  });
  const { subscriptionId, userId } = await w.active({ planId: 13 });
  const change = { subscriptionId, newPlanId: 10, quantity: 1 };
  const calls = [
    () => w.t.call(previewChange, change),
    () => w.t.call(submitChange, change),
    () => w.t.call(portalUpdatePreview, change, visitor(userId)),
    () => w.t.call(portalUpdateSubmit, { ...change, confirmTotalAmount: 0 }, visitor(userId)),
    () => w.t.call(newOnetimeAddonPayment, { subscriptionId, addonId: 12, quantity: 1 }),
  ];
  await w.t.rows('update user_copies set status = $1, version = 0 where id = $2', [userStatus.suspended, userId]);
  w.knowUser(userId, { status: userStatus.suspended });
  for (const call of calls) expect(await call()).toMatchObject({ slug: 'user_inactive' });
  // a copy that is behind is not refused on: identity is asked
  await w.t.rows('update user_copies set version = 0 where id = $1', [userId]);
  w.knowUser(userId, {});
  for (const call of calls) expect(await call()).not.toMatchObject({ slug: 'user_inactive' });
});
