import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { changeGateway, resumeSubscription } from '@recur/contracts';
import { type Subscribers, subscribers, utc } from '../../world/clock.js';

/* A subscription that cannot be billed is set aside with its reason, and holds up none of those that are due with it. */

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-01-31'));

/** Five subscriptions that are due at the same moment. */
async function five(): Promise<string[]> {
  const planId = s.plan();
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) ids.push((await s.subscribe({ userId: await s.userWithCard(), planId })).id);
  return ids;
}

const made = async (ids: readonly string[]) =>
  (
    await s.t.rows(
      `select subscription_id from invoices where subscription_id = any($1) and bill_reason = 'cycle' order by id`,
      [ids],
    )
  ).length;

it('one without a gateway is parked with its reason, and billed once it has one and is resumed', async () => {
  const ids = await five();
  const [first = ''] = ids;
  await s.t.rows('update subscriptions set gateway_id = 0 where subscription_id = $1', [first]);
  await s.to('2026-02-25T01:00');
  expect(await made(ids)).toBe(4);
  const [row] = await s.t.rows('select parked_reason from subscriptions where subscription_id = $1', [first]);
  expect(row?.parked_reason).toBe('It has no gateway by which it could be charged');
  await s.t.done(changeGateway, { subscriptionId: first, gatewayId: s.gatewayId() }, s.merchant);
  await s.t.done(resumeSubscription, { subscriptionId: first }, s.merchant);
  await s.to('2026-02-25T02:00');
  expect(await made(ids)).toBe(5);
  await s.to('2026-02-28');
  expect(await s.dates(first)).toBe('active 02-28 03-31');
});

it('one whose billing fails is tried again by itself, while the others of its batch go on', async () => {
  const ids = await five();
  const [broken = '', ...others] = ids;
  const [row] = await s.t.rows('select plan_snapshot from subscriptions where subscription_id = $1', [broken]);
  const setPlan = 'update subscriptions set plan_snapshot = $2 where subscription_id = $1';
  await s.t.rows(setPlan, [broken, JSON.stringify({ ...(row?.plan_snapshot as object), plan: null })]);
  // by the machine's clock: the runner takes them as one batch
  s.clock.advance(utc('2026-02-25T01:00') - (await s.ahead()) - s.clock.now());
  await s.drain();
  expect([await made(others), await made([broken])]).toEqual([4, 0]);
  const waiting = () => s.t.rows('select attempts, parked_at, reason from due_work where key = $1', [broken]);
  expect(await waiting()).toMatchObject([{ attempts: 1 }]);
  await s.t.rows(setPlan, [broken, JSON.stringify(row?.plan_snapshot)]);
  s.clock.advance(3600);
  await s.drain();
  expect(await made([broken])).toBe(1);
});
