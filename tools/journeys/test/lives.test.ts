import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { orThrow } from '@recur/client';
import type { Invoice } from '@recur/contracts';
import { isMany, sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { timeOf } from '../../simulate/clock.js';
import { type Receiver, startReceiver } from '../receiver.js';
import { promised } from './examples/documents.js';
import { Seller } from './examples/seller.js';
import type { Step } from './lives/living.js';
import { eventsBySubscription, expectedOf, seenOf, subscriptionEvents } from './lives/seen.js';
import { configure, digitsOf, promoRates, wires } from './lives/sold.js';
import { drawnLife, kinds, type Lived } from './lives/steps.js';
import { Subscriber } from './lives/subscriber.js';
import { pass } from './lives/transfers.js';
import { type Stand, startStand } from './stand.js';

/*
 * Random lives of subscriptions through HTTP on the test clock, each lived in the model as well. After each step everything
 * that is seen of it is what the model has: status, period, credit, and every document to the line.
 */

const shops = 4;
/** The shop in which a change at once bills nothing. */
const withoutProration = 3;
const lives = sized(24, 400);
const rounds = 9;
const seed = isMany ? jest.getSeed() : 20_270_132;
/** Within this a charge is settled, and a change that is not paid has lapsed. */
const SETTLED = 4200;

jest.setTimeout(sized(900_000, 3_600_000));

/** Hours between the rounds of a shop; within the shorter ones what is open stays open. */
const gaps = fc.array(fc.oneof(fc.integer({ min: 3, max: 50 }), fc.integer({ min: 3, max: 500 })), {
  minLength: rounds,
  maxLength: rounds,
});

/** Counts of a run. */
const seen = new Map<string, number>();
const count = (what: string) => {
  seen.set(what, (seen.get(what) ?? 0) + 1);
};
/** The currency of a shop's wires: each gateway has one. */
const wireCurrency = (shop: number): string => Object.keys(promoRates)[shop] ?? 'EUR';

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
  const prorates = shop !== withoutProration;
  await configure(seller, prorates);
  const [hours = []] = fc.sample(gaps, { numRuns: 1, seed: seed + shop });
  const all = fc.sample(drawnLife(rounds), { numRuns: Math.ceil(lives / shops), seed: seed + shop });
  // a last day of January to come, which later months do not have
  await seller.to(Date.UTC(new Date().getUTCFullYear() + 1, 0, 31) / 1000 + 10_000 * shop);
  const subscribers = await begun(seller, all, { currencyOfWires: wireCurrency(shop), prorates });
  await settle(seller, subscribers);
  for (let round = 0; round < rounds; round++) {
    for (const subscriber of subscribers) await subscriber.look();
    const until = (await timeOf(seller.api)) + (hours[round] ?? 0) * 3600;
    await pass({ seller, subscribers }, until, count);
    for (const subscriber of subscribers) await comparePreview(subscriber);
    for (const [at, subscriber] of subscribers.entries()) await step(subscriber, all[at]?.steps[round] ?? []);
    await settle(seller, subscribers);
  }
  return subscribers;
}

async function begun(
  seller: Seller,
  all: readonly Lived[],
  { currencyOfWires, prorates }: { currencyOfWires: string; prorates: boolean },
): Promise<Subscriber[]> {
  const wireId = await wires(seller, currencyOfWires);
  const subscribers: Subscriber[] = [];
  for (const { terms: given, card, transfers, ...drawn } of all) {
    const currency = card === 'wire' ? currencyOfWires : drawn.currency;
    const promo = given.promo && { ...given.promo, rate: promoRates[currency] ?? 100n };
    const sold = { ...given, promo, digits: digitsOf(currency), creditPays: true, prorates };
    const gatewayId = card === 'wire' ? wireId : seller.gatewayId;
    subscribers.push(await Subscriber.begin(seller, sold, { currency, card, transfers, gatewayId }));
  }
  return subscribers;
}

/** Makes the first candidate that the rules allow. */
async function step(subscriber: Subscriber, candidates: readonly Step[]): Promise<void> {
  for (const candidate of candidates) {
    if (!(await subscriber.take(candidate))) continue;
    count(candidate.do);
    return;
  }
}

async function comparePreview(subscriber: Subscriber): Promise<void> {
  const [preview, document] = (await subscriber.followed()) ?? [];
  if (!preview || !document) return;
  const text = (of: Invoice) => inspect(promised(of), { depth: null, sorted: true, maxArrayLength: null }).split('\n');
  compare(subscriber, text(preview), text(document));
  count('preview');
}

/** Lets the clock go on until everything is decided, and compares every life. */
async function settle(seller: Seller, subscribers: readonly Subscriber[]): Promise<void> {
  await pass({ seller, subscribers }, (await timeOf(seller.api)) + SETTLED, count);
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
  expect(kinds.filter(kind => !seen.has(kind))).toEqual([]);
  expect(seen.get('preview')).toBeGreaterThan(1);
});
