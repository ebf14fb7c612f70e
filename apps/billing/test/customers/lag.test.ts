import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSubscription, invoiceDetail, previewSubscription } from '@recur/contracts';
import { type World, world } from '../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world();
});
afterAll(() => w.t.close());

/** A user whose copy has no country, while identity knows one by now. */
async function moved(): Promise<number> {
  const userId = w.newUser();
  await w.t.done(previewSubscription, { userId, planId: 10 });
  await w.t.rows('update user_copies set version = 0 where id = $1', [userId]);
  w.knowUser(userId, { countryCode: 'DE' });
  return userId;
}
const boughtBy = async (userId: number) => {
  const { invoiceId } = await w.t.done(createSubscription, { userId, planId: 10 });
  const { invoice } = await w.t.done(invoiceDetail, { invoiceId });
  return [invoice.taxPercentage, invoice.countryCode];
};

it('a copy that is known to lag is asked for before a sale is computed with it, once', async () => {
  const userId = await moved();
  w.t.db.lags = copy => copy === 'users';
  w.asked.length = 0;
  expect(await boughtBy(userId)).toEqual([1900, 'DE']);
  expect(w.asked).toEqual([String(userId)]);
});

it('where the owner is away, the sale goes on with the copy', async () => {
  const userId = await moved();
  w.t.db.lags = () => true;
  w.t.bus.remove('identity');
  w.t.bus.remove('catalog');
  expect(await boughtBy(userId)).toEqual([0, '']);
  // a copy that lags does not decide that somebody is unknown or suspended
  const unknown = w.newUser();
  expect(await w.t.call(createSubscription, { userId: unknown, planId: 10 })).toMatchObject({
    slug: 'dependency_away',
  });
  await w.t.rows('update user_copies set status = 2 where id = $1', [userId]);
  expect(await w.t.call(createSubscription, { userId, planId: 10 })).toMatchObject({ slug: 'dependency_away' });
});

it('a copy that does not lag is not asked for', async () => {
  const { userId } = (await w.t.rows('select id as "userId" from user_copies order by id limit 1'))[0] ?? {};
  w.t.db.lags = () => false;
  w.asked.length = 0;
  await w.t.done(previewSubscription, { userId: Number(userId), planId: 10 });
  expect(w.asked).toEqual([]);
});
