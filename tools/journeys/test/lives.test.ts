import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { orThrow } from '@recur/client';
import { isMany, sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { timeOf } from '../../simulate/clock.js';
import { type Receiver, startReceiver } from '../receiver.js';
import { promised } from './examples/documents.js';
import { Seller } from './examples/seller.js';
import { eventsBySubscription, expectedOf, seenOf, subscriptionEvents } from './lives/seen.js';
import { configure, digitsOf, promoRates } from './lives/sold.js';
import { type Step, Subscriber } from './lives/subscriber.js';
import { terms, wish } from './lives/terms.js';
import { type Stand, startStand } from './stand.js';

/*
 * Random lives of subscriptions through HTTP on the test clock, each lived in the model as well. After each step everything
 * that is seen of it is what the model has: status, period, credit, and every document to the line.
 */

const shops = 4;
const lives = sized(24, 400);
const rounds = 9;
const seed = isMany ? jest.getSeed() : 20_270_131;
/** Within this a charge is settled, and a change that is not paid has lapsed. */
const SETTLED = 4200;

jest.setTimeout(sized(900_000, 3_600_000));

const card = fc.constantFrom('pays', 'pays', 'pays', 'paysLate', 'declines', 'declinesForGood', 'asks');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'nothing' as const }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      wish,
      effect: fc.constantFrom('byRules' as const, 'now' as const, 'periodEnd' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('extend' as const), hours: fc.integer({ min: 1, max: 900 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dueDay' as const), day: fc.integer({ min: 1, max: 31 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('use' as const), units: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('card' as const), card }) },
  { weight: 1, arbitrary: fc.constant({ do: 'approve' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'endLater' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'keep' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('cancel' as const), prorate: fc.boolean(), invoiceNow: fc.boolean() }),
  },
);
const life = fc.record({
  terms,
  currency: fc.constantFrom(...Object.keys(promoRates)),
  card,
  steps: fc.array(step, { minLength: rounds, maxLength: rounds }),
});
/** Hours between the rounds of a shop. */
const gaps = fc.array(fc.integer({ min: 3, max: 500 }), { minLength: rounds, maxLength: rounds });

/** Counts of a run. */
const seen: Record<string, number> = {};
const count = (what: string) => {
  seen[what] = (seen[what] ?? 0) + 1;
};

let stand: Stand;
const receivers: Receiver[] = [];
beforeAll(async () => {
  stand = await startStand();
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await stand.close();
});

async function lived(seller: Seller, shop: number): Promise<Subscriber[]> {
  await configure(seller);
  const [hours = []] = fc.sample(gaps, { numRuns: 1, seed: seed + shop });
  const all = fc.sample(life, { numRuns: Math.ceil(lives / shops), seed: seed + shop });
  // a last day of January to come, which later months do not have
  await seller.to(Date.UTC(new Date().getUTCFullYear() + 1, 0, 31) / 1000 + 10_000 * shop);
  const subscribers: Subscriber[] = [];
  for (const { terms: given, currency, card: first } of all) {
    const promo = given.promo && { ...given.promo, rate: promoRates[currency] ?? 100n };
    const sold = { ...given, promo, digits: digitsOf(currency), creditPays: true };
    subscribers.push(await Subscriber.begin(seller, sold, { currency, card: first }));
  }
  await settle(seller, subscribers);
  for (let round = 0; round < rounds; round++) {
    for (const subscriber of subscribers) await subscriber.look();
    await seller.to((await timeOf(seller.api)) + (hours[round] ?? 0) * 3600);
    for (const subscriber of subscribers) {
      const [preview, document] = (await subscriber.followed()) ?? [];
      if (!preview || !document) continue;
      expect(promised(document)).toEqual(promised(preview));
      count('preview');
    }
    for (const [at, subscriber] of subscribers.entries()) {
      const taken = all[at]?.steps[round];
      if (taken && (await subscriber.take(taken))) count(taken.do);
    }
    await settle(seller, subscribers);
  }
  return subscribers;
}

/** Lets the clock go on until everything is decided, and compares every life. */
async function settle(seller: Seller, subscribers: readonly Subscriber[]): Promise<void> {
  await seller.to((await timeOf(seller.api)) + SETTLED);
  for (const subscriber of subscribers) {
    subscriber.life.live(await timeOf(seller.api));
    compare(subscriber, await seenOf(seller, subscriber), expectedOf(subscriber));
  }
}

function compare({ trace, subscriptionId }: Subscriber, is: readonly string[], ought: readonly string[]): void {
  if (is.join('\n') === ought.join('\n')) return;
  throw new Error(
    [`${subscriptionId}, seed ${seed}`, ...trace, '', 'is', ...is, '', 'ought to be', ...ought].join('\n'),
  );
}

it(`everything that is seen of ${lives} random lives is what the model has`, async () => {
  const sellers: Seller[] = [];
  for (let shop = 0; shop < shops; shop++) {
    const seller = await Seller.open(stand, `Lives ${shop}`);
    const receiver = await startReceiver();
    receivers.push(receiver);
    const events = subscriptionEvents.map(name => `subscription.${name}` as const);
    orThrow(await seller.api.post('/merchant/webhook/new_endpoint', { url: receiver.url, events }));
    sellers.push(seller);
  }
  const all = (await Promise.all(sellers.map(lived))).flat();
  await stand.quiet();
  const told = eventsBySubscription(receivers.flatMap(({ deliveries }) => deliveries));
  for (const each of all) compare(each, told.get(each.subscriptionId) ?? [], each.life.events);
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(1);
});
