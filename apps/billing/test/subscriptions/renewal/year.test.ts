import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSubscription } from '@recur/contracts';
import type { Interval } from '@recur/kernel';
import { sized } from '@recur/platform/testing/size';
import { mixed, nthBoundary } from '../../../../../tools/journeys/model/calendar.js';
import { type Subscribers, subscribers } from '../../world/clock.js';

/*
 * A year of subscriptions by the machine's clock: in several zones, with cards that are declined for a while or for good,
 * three days in which billing does nothing, and its connections killed at random while it works. Each period is billed
 * once, and the money that came is that of the closed form.
 */

const count = sized(100, 1_000);
const HOUR = 3600;
const DAY = 24 * HOUR;
const limits = { days: 366, stepHours: 6, outage: { from: 100, days: 3 }, killsPerHundred: 4 } as const;

interface Subscriber {
  id: string;
  userId: number;
  start: number;
  interval: Interval;
  zone: string;
  price: number;
  /** Day from which the card is declined, and for how long; for good where that is Infinity. */
  declined: { from: number; days: number } | undefined;
}

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());

/** A small generator of its own, so that a year can be lived again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function subscribed(at: number): Promise<Subscriber> {
  const { interval, zone } = mixed(at);
  const price = 1000 + at;
  const planId = s.plan({ amount: price, intervalUnit: interval.unit, intervalCount: interval.count });
  const userId = await s.userWithCard();
  const start = s.clock.now();
  const terms = { gatewayId: s.gatewayId(), userId, planId, timeZone: zone };
  const { subscription } = await s.t.done(createSubscription, terms, s.merchant);
  const from = 20 + ((at * 7) % 300);
  // one in ten is declined for less than a retry interval, one in ten for good
  const declined =
    at % 10 === 3 ? { from, days: 0.5 } : at % 10 === 7 ? { from, days: Number.POSITIVE_INFINITY } : undefined;
  return { id: subscription.subscriptionId, userId, start, interval, zone, price, declined };
}

const kill = `select count(pg_terminate_backend(pid)) as killed from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and usename like '%_app' and state <> 'idle'`;

/** Does what is due while connections are killed; what was under way is done again later. */
async function withKills(next: () => number): Promise<number> {
  const drained = s.drain().catch(() => undefined);
  await new Promise(resolve => setTimeout(resolve, next() * 30));
  const [row] = await s.t.rows(kill);
  await drained;
  return Number(row?.killed ?? 0);
}

/** Periods that the subscription pays for: those whose charge, two hours before they begin, was not declined for good. */
function paidPeriods({ start, interval, zone, declined }: Subscriber, began: number, end: number): number[] {
  const until = declined?.days === Number.POSITIVE_INFINITY ? Math.min(end, began + declined.from * DAY) : end;
  const starts = [start];
  for (let k = 1; nthBoundary(start, k, interval, zone) - 2 * HOUR <= until; k++)
    starts.push(nthBoundary(start, k, interval, zone));
  return starts;
}

it(
  `a year of ${count} subscriptions bills each period once, and earns the closed form`,
  async () => {
    const next = random(20_260_115);
    const all: Subscriber[] = [];
    const began = s.clock.now();
    await s.anew('2026-01-15T12:00');
    for (let at = 0; at < count; at++) {
      s.clock.advance(60 + Math.floor(next() * 600));
      all.push(await subscribed(at));
    }
    await s.drain();
    let killed = 0;
    const end = began + limits.days * DAY;
    while (s.clock.now() < end) {
      const day = (s.clock.now() - began) / DAY;
      for (const one of all) {
        if (!one.declined) continue;
        const since = day - one.declined.from;
        const step = limits.stepHours / 24;
        if (since >= 0 && since < step) await s.swap(one.userId, 'declines_softly');
        if (since >= one.declined.days && since < one.declined.days + step) await s.swap(one.userId, 'succeeds');
      }
      const isOut = day >= limits.outage.from && day < limits.outage.from + limits.outage.days;
      s.clock.advance(Math.min(limits.stepHours * HOUR, end - s.clock.now()));
      if (isOut) continue;
      if (next() * 100 < limits.killsPerHundred) killed += await withKills(next);
      await s.drain();
    }
    const twice = await s.t.rows(
      `select subscription_id, period_start, count(*) from invoices where merchant_id = $1 and status = 'paid'
      and period_kind <> '' group by 1, 2 having count(*) > 1`,
      [s.merchant.merchantId],
    );
    expect(twice).toEqual([]);
    const parked = await s.t.rows(`select 1 from subscriptions where parked_reason <> ''`);
    expect(parked).toEqual([]);
    let revenue = 0;
    for (const one of all) {
      const rows = await s.t.rows(
        `select period_start from invoices where subscription_id = $1 and status = 'paid' order by period_start`,
        [one.id],
      );
      const paid = paidPeriods(one, began, end);
      expect([one.id, ...rows.map(row => Number(row.period_start))]).toEqual([one.id, ...paid]);
      revenue += paid.length * one.price;
    }
    const [sum] = await s.t.rows(
      `select sum(amount) as amount from sandbox_charges where merchant_id = $1 and state = 'succeeded'`,
      [s.merchant.merchantId],
    );
    expect(Number(sum?.amount)).toBe(revenue);
    expect(killed).toBeGreaterThan(0);
  },
  sized(600_000, 3_600_000),
);
