import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { type Client, createClient, orThrow } from '@recur/client';
import type { Interval } from '@recur/kernel';
import { sized } from '@recur/platform/testing/size';
import { sandboxGateway } from '../../journeys/card.js';
import { mixed, nthBoundary } from '../../journeys/model/calendar.js';
import { type Stand, startStand } from '../../journeys/test/stand.js';
import { random } from '../faults.js';

/*
 * A year of subscriptions on the test clock of a whole stack: in several zones, with cards that are declined for a while or
 * for good, and the billing service killed at random moments. Each period is billed once, and the money that came is that
 * of the closed form.
 */

jest.setTimeout(sized(600_000, 3_600_000));

const count = sized(10, 100);
const HOUR = 3600;
const DAY = 24 * HOUR;
const limits = { days: 366, betweenKillsMs: sized(5_000, 15_000), kills: sized(6, 1_000), pollMs: 250 } as const;

interface Subscriber {
  id: string;
  userId: number;
  start: number;
  interval: Interval;
  zone: string;
  price: number;
  /** Time from which the card is declined for good; Infinity where it is not. */
  declinedFrom: number;
}

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand.close());

/** Kills billing at random moments and starts it again, until it is told to stop or has often enough; returns how often. */
function killing(next: () => number) {
  let [isOver, kills] = [false, 0];
  const loop = async () => {
    while (!isOver && kills < limits.kills) {
      await pause(next() * limits.betweenKillsMs);
      if (isOver || !(await stand.stack.kill('billing'))) continue;
      kills++;
      await stand.endLeases();
      await stand.stack.start('billing');
    }
  };
  const done = loop();
  return async () => {
    isOver = true;
    await done;
    return kills;
  };
}

async function subscribed(api: Client, gatewayId: number, at: number): Promise<Subscriber> {
  const { interval, zone } = mixed(at);
  const price = 1000 + at;
  const terms = { currency: 'EUR', intervalUnit: interval.unit, intervalCount: interval.count };
  const { plan } = orThrow(await api.post('/merchant/plan/new', { planName: `${price}`, amount: price, ...terms }));
  orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
  const { user } = orThrow(await api.post('/merchant/user/new', { email: `${randomUUID()}@example.com` }));
  const where = { gatewayId, userId: user.id };
  orThrow(await api.post('/merchant/payment/method/new', { ...where, data: { scenario: 'succeeds' } }));
  const request = { ...where, planId: plan.id, quantity: 1, timeZone: zone };
  const { subscription } = orThrow(await api.post('/merchant/subscription/create_submit', request));
  const { subscriptionId: id, currentPeriodStart: start } = subscription;
  return { id, userId: user.id, start, interval, zone, price, declinedFrom: Number.POSITIVE_INFINITY };
}

/** Replaces a user's card by one with another outcome. */
async function swap(api: Client, gatewayId: number, userId: number, scenario: string): Promise<void> {
  const where = { gatewayId, userId };
  const { methodList } = orThrow(await api.get('/merchant/payment/method_list', where));
  orThrow(await api.post('/merchant/payment/method/new', { ...where, data: { scenario } }));
  for (const { id } of methodList) {
    const gone = await api.post('/merchant/payment/method/delete', { ...where, paymentMethodId: id });
    // asked again because billing was killed, after it was done
    if (!gone.ok && gone.error.status !== 404) orThrow(gone);
  }
}

/** Moves the clock, however often billing is killed on the way. */
async function advanceTo(api: Client, to: number): Promise<void> {
  for (;;) {
    const { now, status } = orThrow(await api.get('/merchant/test_clock', {}));
    if (status === 'ready' && now >= to) return;
    if (status === 'ready') await api.post('/merchant/test_clock/advance', { to });
    else await pause(limits.pollMs);
  }
}

/** Declines of cards: one in ten is declined for less than a retry interval, one in ten for good. */
function declines(all: readonly Subscriber[], began: number) {
  return all
    .flatMap((one, at) => {
      const from = began + (20 + ((at * 7) % 300)) * DAY;
      if (at % 10 === 3) {
        return [
          { at: from, one, scenario: 'declines_softly' },
          { at: from + 12 * HOUR, one, scenario: 'succeeds' },
        ];
      }
      if (at % 10 !== 7) return [];
      one.declinedFrom = from;
      return [{ at: from, one, scenario: 'declines_softly' }];
    })
    .toSorted((a, b) => a.at - b.at);
}

/** Periods that the subscription pays for: those whose charge, two hours before they begin, was not declined for good. */
function paidPeriods({ start, interval, zone, declinedFrom }: Subscriber, end: number): number[] {
  const starts = [start];
  for (let k = 1; ; k++) {
    const next = nthBoundary(start, k, interval, zone);
    if (next - 2 * HOUR > Math.min(end, declinedFrom)) return starts;
    starts.push(next);
  }
}

it(`a year of ${count} subscriptions with billing killed at random bills each period once, and earns the closed form`, async () => {
  const seed = jest.getSeed();
  const { merchantId, apiKey } = await stand.stack.merchant('Year');
  const { baseUrl } = stand.stack.facts();
  const api = createClient({ baseUrl, credential: apiKey, attempts: 40, timeoutMs: 20_000 });
  const own = (text: string) => stand.ask('billing', text.replaceAll('$m', `merchant_id = ${merchantId}`));
  const gatewayId = await sandboxGateway(api);
  const all: Subscriber[] = [];
  for (let at = 0; at < count; at++) all.push(await subscribed(api, gatewayId, at));
  const { now: began } = orThrow(await api.get('/merchant/test_clock', {}));
  const end = began + limits.days * DAY;
  const stop = killing(random(seed));
  for (const { at, one, scenario } of declines(all, began)) {
    await advanceTo(api, at);
    await swap(api, gatewayId, one.userId, scenario);
  }
  await advanceTo(api, end);
  const kills = await stop();

  const twice = await own(
    `select subscription_id, period_start from invoices where $m and status = 'paid' and period_kind <> ''
      group by 1, 2 having count(*) > 1`,
  );
  expect({ seed, twice }).toEqual({ seed, twice: [] });
  expect(
    await own(`select subscription_id, parked_reason from subscriptions where $m and parked_reason <> ''`),
  ).toEqual([]);
  const paid = await own(
    `select subscription_id, period_start from invoices where $m and status = 'paid' order by period_start`,
  );
  for (const one of all) {
    const starts = paid.filter(row => row.subscription_id === one.id).map(row => Number(row.period_start));
    expect({ seed, id: one.id, starts }).toEqual({ seed, id: one.id, starts: paidPeriods(one, end) });
  }
  const [sum] = await own(`select sum(amount) as amount from sandbox_charges where $m and state = 'succeeded'`);
  const revenue = all.reduce((total, one) => total + one.price * paidPeriods(one, end).length, 0);
  expect(Number(sum?.amount)).toBe(revenue);
  expect(kills).toBeGreaterThan(2);
  await stand.quiet();
});
