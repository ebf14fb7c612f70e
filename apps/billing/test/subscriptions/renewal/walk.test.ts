import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { advanceTestClock, getTestClock } from '@recur/contracts';
import { type Subscribers, subscribers, utc } from '../../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());

/** Moves the merchant's clock in one call, and waits for the end of the walk. */
async function walk(to: string): Promise<void> {
  let clock = await s.t.done(advanceTestClock, { to: utc(to) }, s.merchant);
  while (clock.status !== 'ready') {
    await s.drain();
    clock = await s.t.done(getTestClock, {}, s.merchant);
  }
}

const intervals = [
  ['week', 2, 26],
  ['month', 1, 12],
  ['year', 1, 1],
] as const;

it.each(['succeeds', 'calls_back_twice'])(
  'a year in one call: a card that %s is charged before each period begins, and no renewal fails',
  async scenario => {
    await s.anew('2026-01-31');
    const ids: string[] = [];
    for (const [intervalUnit, intervalCount] of intervals) {
      const planId = s.plan({ intervalUnit, intervalCount });
      ids.push((await s.subscribe({ userId: await s.userWithCard(scenario), planId })).id);
    }
    await s.t.emitted();
    await walk('2027-01-31T01:00');
    const events = await s.t.emitted();
    const renewals = (id: string) => {
      const types = events.filter(({ aggregateId }) => aggregateId === id).map(({ type }) => type);
      return ['success', 'failure'].map(end => types.filter(type => type === `subscription.auto_renew.${end}`).length);
    };
    expect(ids.map(renewals)).toEqual(intervals.map(([, , renewed]) => [renewed, 0]));
  },
);
