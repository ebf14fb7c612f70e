import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import {
  cancelPayment,
  cancelSubscription,
  createSubscription,
  newPaymentMethod,
  submitChange,
  userSubscriptionDetail,
} from '@recur/contracts';
import { sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { PendingUpdates } from '../../src/subscriptions/change/pending-updates.js';
import { type World, world } from '../world/subscriptions.js';

const courses = sized(200, 2_000);
const atOnce = 25;

/** Cards: the outcome of a charge is told at once, late, by a callback, after a time-out, or waits for the user. */
const cards = [
  'succeeds',
  'declines_softly',
  'needs_action',
  'times_out_after_charging',
  'times_out_before_charging',
  'calls_back_late',
  'calls_back_twice',
] as const;
const clicks = ['buy', 'buy again', 'buy more', 'change', 'change again', 'change back', 'approve'] as const;
const others = ['take the change back', 'cancel the payment', 'cancel', 'another card'] as const;
type Click = (typeof clicks)[number] | (typeof others)[number];

/** The clicks of a user, and their times: milliseconds after the click before; those of 0 are made at one instant. */
const course = fc.record({
  card: fc.constantFrom(...cards),
  clicks: fc.array(
    fc.record({
      click: fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom<Click>(...clicks) },
        { weight: 1, arbitrary: fc.constantFrom<Click>(...others) },
      ),
      afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 })),
    }),
    { minLength: 4, maxLength: 10 },
  ),
});
type Course = typeof course extends fc.Arbitrary<infer T> ? T : never;

const pause = (ms: number) => new Promise<void>(resolve => void setTimeout(resolve, ms));

let w: World;
let gatewayId = 0;
let sandbox: Sandbox;
beforeAll(async () => {
  w = await world();
  ({ gatewayId } = await w.sandbox());
  sandbox = w.t.app.get(Sandbox);
  // a gateway takes its time, before the money is taken and after it
  const charge = sandbox.charge.bind(sandbox);
  let calls = 0;
  jest.spyOn(sandbox, 'charge').mockImplementation(async (...args) => {
    calls += 1;
    await pause((calls * 37) % 50);
    const outcome = await charge(...args);
    await pause((calls * 53) % 50);
    return outcome;
  });
});
afterAll(() => w.t.close());

const subscriptionOf = async (userId: number) => {
  const found = await w.t.call(userSubscriptionDetail, { userId, productId: 0 });
  return found.ok ? (found.data.subscription?.subscriptionId ?? '') : '';
};
const openPaymentsOf = (userId: number) =>
  w.t.rows(
    `select payment_id, gateway_payment_id, outcome from payments where user_id = $1 and status = 'created' order by id`,
    [userId],
  );

/** Does one click of a user; what is refused is refused. */
async function does(click: Click, userId: number): Promise<unknown> {
  const buy = (quantity: number) => w.t.call(createSubscription, { planId: 10, userId, gatewayId, quantity });
  const change = async (newPlanId: number) => {
    const subscriptionId = await subscriptionOf(userId);
    return subscriptionId && w.t.call(submitChange, { subscriptionId, newPlanId, quantity: 1, effectImmediate: 1 });
  };
  const [open] = await openPaymentsOf(userId);
  switch (click) {
    case 'buy':
    case 'buy again':
      return buy(1);
    case 'buy more':
      return buy(2);
    case 'change':
    case 'change again':
      return change(20);
    case 'change back':
      return change(10);
    case 'approve':
      return open?.outcome === 'action' && sandbox.answer(account(), String(open.gateway_payment_id), true);
    case 'take the change back': {
      const subscriptionId = await subscriptionOf(userId);
      if (!subscriptionId) return undefined;
      return w.t.app
        .get(PendingUpdates)
        .cancel({ subscriptionId }, w.t.callerOf())
        .catch(error => error.slug);
    }
    case 'cancel the payment':
      return open && w.t.call(cancelPayment, { paymentId: String(open.payment_id) });
    case 'cancel': {
      const subscriptionId = await subscriptionOf(userId);
      return subscriptionId && w.t.call(cancelSubscription, { subscriptionId });
    }
    case 'another card':
      return w.t.call(newPaymentMethod, { gatewayId, userId, data: { scenario: 'succeeds' } });
  }
}
const account = () => ({ merchantId: 15, gatewayId, key: '', secret: '', webhookSecret: '' });

/** A user lives a course, beside the workers; later clicks do not wait for the answers to earlier ones. */
async function lives({ card, clicks: made }: Course): Promise<number> {
  const userId = w.newUser();
  await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario: card } });
  const answers: Promise<unknown>[] = [];
  for (const { click, afterMs } of made) {
    await pause(afterMs);
    answers.push(does(click, userId));
  }
  await Promise.all(answers);
  return userId;
}

/**
 * Money that was taken beyond what paid documents cost, and documents that were paid twice. A user who approves a charge
 * in the instant in which it is replaced has paid it: that money is the user's credit.
 */
const faults = `
  with taken as (
    select p.user_id, p.invoice_id, count(*) as charges, sum(c.amount) as amount
    from sandbox_charges c join payments p on p.payment_id = substring(c.idempotency_key from '^(.*)-')
    where c.state = 'succeeded' and c.kind = 'charge' group by 1, 2),
  due as (select user_id, invoice_id, sum(payment_amount) as amount from payments where status = 'success' group by 1, 2),
  kept as (select i.user_id, s.invoice_id, sum(s.amount) as amount
    from payment_surpluses s join invoices i using (merchant_id, invoice_id) group by 1, 2)
  select user_id, invoice_id, charges::integer, taken.amount::integer as taken, due.amount::integer as due,
    kept.amount::integer as surplus
  from taken left join due using (user_id, invoice_id) left join kept using (user_id, invoice_id)
  where user_id = any($1) and (charges > 1 or taken.amount <> coalesce(due.amount, 0))`;

it(`${courses} courses of clicks, callbacks and time-outs at once take the money that is due, and no more`, async () => {
  const drawn = fc.sample(course, { numRuns: courses, seed: jest.getSeed() });
  w.t.work.start();
  const byUser = new Map<number, Course>();
  for (let from = 0; from < courses; from += atOnce) {
    const some = drawn.slice(from, from + atOnce);
    const users = await Promise.all(some.map(lives));
    for (const [at, userId] of users.entries()) byUser.set(userId, some[at] as Course);
  }
  await w.t.work.stop();
  // outcomes that gateways kept to themselves come; charges that wait for their users are approved, where that is possible
  for (let at = 0; at < 6; at++) {
    await w.drain();
    w.clock.advance(20 * 60);
  }
  for (const userId of byUser.keys()) await does('approve', userId);
  await w.drain();

  const found = await w.t.rows(faults, [[...byUser.keys()]]);
  const untold = found.filter(({ user_id, charges, due, surplus }) => {
    const isReplaced = byUser.get(Number(user_id))?.card === 'needs_action' && due === null && surplus !== null;
    return Number(charges) > 1 || !isReplaced;
  });
  expect(untold.map(row => ({ ...row, ...byUser.get(Number(row.user_id)) }))).toEqual([]);
  expect(await w.t.rows('select kind, key, reason from due_work where reason is not null')).toEqual([]);
  const twice = await w.t.rows(
    `select user_id, subscription_id, period_start from invoices
     where kind = 'invoice' and status = 'paid' and period_kind <> '' group by 1, 2, 3 having count(*) > 1`,
  );
  expect(twice).toEqual([]);
  const [paid] = await w.t.rows(`select count(*)::integer as invoices from invoices where status = 'paid'`);
  expect(Number(paid?.invoices)).toBeGreaterThan(courses / 4);
});
