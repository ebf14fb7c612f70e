import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import {
  aggregationType,
  discountBillingType,
  emptyOf,
  MetricPlanCharge,
  metricType,
  type Plan,
} from '@recur/contracts';
import pg from 'pg';
import { type Subscribers, subscribers, utc } from '../../world/clock.js';

/* Subscriptions that are due together are renewed by statements that serve all of them. */

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());

const METRIC = 3;
/** Terms of subscriptions, and the day of their renewal. */
const kinds: Record<string, { on: string; terms?: object; plan?: Partial<Plan> }> = {
  'a plan': { on: '2026-02-25T01:00' },
  'a plan and a code that recurs': { on: '2026-02-25T01:00', terms: { discountCode: 'HALF' } },
  usage: {
    on: '2026-02-28T02:00',
    // free of charge, so that no payments are made beside
    plan: { amount: 0, metricMeteredCharge: [{ ...emptyOf(MetricPlanCharge), metricId: METRIC, standardAmount: 10 }] },
  },
};

/** Renews subscriptions of one merchant at one instant; returns how many statements that took. */
async function renewed(count: number, kind: string): Promise<number> {
  const { on, terms, plan } = kinds[kind] ?? { on: '' };
  await s.anew('2026-01-31');
  const { merchantId } = s.merchant;
  const metric = { type: metricType.chargeMetered, aggregationType: aggregationType.sum, metricName: 'Calls' };
  s.knowMetric(METRIC, metric, merchantId);
  await s.code('HALF', { billingType: discountBillingType.recurring, discountPercentage: 5000 });
  const planId = s.plan(plan);
  const users: number[] = [];
  for (let at = 0; at < count; at++) {
    const userId = await s.userWithCard();
    await s.subscribe({ userId, planId, ...terms });
    users.push(userId);
  }
  await s.t.rows(`delete from due_work where kind <> 'subscription.next' or merchant_id <> $1`, [merchantId]);
  // by the machine's clock: the runner takes them as one batch
  const upcoming = utc(on) - (await s.ahead()) - s.clock.now();
  s.clock.advance(upcoming);
  const query = jest.spyOn(pg.Client.prototype, 'query');
  for (let round = 0; round < 3; round++) await s.drain();
  // a connection makes its plans anew when a statement's uses have doubled, at most once a second
  const { length } = query.mock.calls.filter(([text]) => String(text) !== 'discard plans');
  query.mockRestore();
  s.clock.advance(-upcoming);
  const made = await s.t.rows(
    `select counter::int as counter from invoices
      where merchant_id = $1 and bill_reason = 'cycle' and status <> 'pending' order by counter`,
    [merchantId],
  );
  expect(made.map(({ counter }) => counter)).toEqual(Array.from({ length: count }, (_, at) => count + 1 + at));
  return length;
}

it.each(Object.keys(kinds))('thirty renewals of %s take as many statements as three', async kind => {
  const few = await renewed(3, kind);
  expect(few).toBeLessThan(150);
  expect(await renewed(30, kind)).toBe(few);
});
