import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { Shop, seen } from './histories/shop.js';
import { type Stand, startStand } from './stand.js';

/*
 * Random histories through HTTP on the test clock: subscriptions of a merchant live side by side, change, are renewed and
 * end. Each change and each renewal is previewed just before, and its document is the preview, to the line; what was
 * billed in the end is the price over time.
 */

const histories = sized(20, 500);
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Chatham', 'Africa/Casablanca'];
const rounds = 5;
const DAY = 86_400;

jest.setTimeout(sized(600_000, 3_600_000));

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand.close());

const wish = fc.record({ plan: fc.nat(2), quantity: fc.integer({ min: 1, max: 5 }), addons: fc.nat(2) });
const round = fc.record({ change: fc.boolean(), effect: fc.constantFrom(0, 0, 1, 2), wish });
const history = fc.record({
  wish,
  rounds: fc.array(round, { minLength: rounds, maxLength: rounds }),
  ending: fc.constantFrom('none', 'now', 'prorated'),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;

/** A last day of January to come, which later months do not have. */
const begin = Date.UTC(new Date().getUTCFullYear() + 1, 0, 31) / 1000;

async function lived(shop: Shop, all: readonly History[]): Promise<void> {
  await shop.to(begin);
  for (const each of all) await shop.subscribe(each.wish);
  let now = begin + 3600;
  await shop.to(now);
  for (let at = 0; at < rounds; at++) {
    await shop.look(now);
    for (const [i, life] of shop.lives.entries()) {
      const step = all[i]?.rounds[at];
      if (step?.change) await shop.change(life, step.wish, step.effect);
    }
    now += 600;
    await shop.to(now);
    const previews = await shop.previews();
    now += DAY * (9 + 5 * at);
    await shop.to(now);
    await shop.compare(previews);
  }
  await shop.look(now);
  for (const [i, life] of shop.lives.entries()) {
    const { ending = 'none' } = all[i] ?? {};
    if (ending !== 'none') await shop.end(life, ending === 'prorated');
  }
  await shop.look(now);
  await shop.audit();
}

it(`each document of ${histories} random histories is what was previewed, and they add up`, async () => {
  const each = Math.ceil(histories / zones.length);
  const shops: Shop[] = [];
  for (const zone of zones) shops.push(await Shop.open(stand, zone));
  const sample = (at: number) => fc.sample(history, { numRuns: each, seed: 20_260_131 + at });
  await Promise.all(shops.map((shop, at) => lived(shop, sample(at))));
  await stand.quiet();
  expect(seen.changes).toBeGreaterThan(histories / 2);
  expect(seen.renewals).toBeGreaterThan(histories);
  expect(seen.taxes).toBeGreaterThan(histories / 2);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(histories / 50);
});
