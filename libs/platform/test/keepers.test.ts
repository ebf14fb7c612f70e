import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { announce, Keepers } from '../src/events/keepers.js';
import { systemCaller } from '../src/runtime/caller.js';
import type { Sighting } from '../src/store/db-parts.js';
import { MovableClock } from '../src/testing/index.js';

let keepers: Keepers;
let listener: (text: string) => void;
const clock = new MovableClock();
const bus = {
  onSignal: (_: string, heard: (text: string) => void) => {
    listener = heard;
  },
  signal: (_: string, text = '') => listener(text),
};
const caller = (merchantId = 15, deadline = clock.wall() + 5_000) => systemCaller(merchantId, '', deadline);
const changed = (version: number, aggregateId = '7') => ({ aggregate: 'user', aggregateId, version });
const tell = (by: string, version: number, id = '7', merchantId = 15) =>
  announce(bus, 'identity', { by, states: [[merchantId, 'user', id, version]] });

beforeEach(() => {
  jest.useFakeTimers();
  keepers = new Keepers(bus, 'identity', { user: ['billing', 'catalog'] }, clock);
});
afterEach(() => {
  jest.useRealTimers();
});

/** Tells, when it is called, if an answer would go out by then. */
async function isSeen(sighting: Sighting | undefined): Promise<() => boolean> {
  let seen = false;
  void sighting?.seen().then(() => {
    seen = true;
  });
  await jest.advanceTimersByTimeAsync(0);
  return () => seen;
}

it('an answer waits until every keeper has announced the state, or a newer one', async () => {
  const seen = await isSeen(keepers.expect(caller(), [changed(3)]));
  for (const [by, version, id, merchantId] of [
    ['billing', 2],
    ['billing', 3, '8'],
    ['billing', 3, '7', 16],
    ['catalog', 3],
  ] as const) {
    tell(by, version, id, merchantId);
  }
  await jest.advanceTimersByTimeAsync(500);
  expect(seen()).toBe(false);
  tell('billing', 4);
  await jest.advanceTimersByTimeAsync(0);
  expect(seen()).toBe(true);
});

it('what is announced before the commit has returned is not missed', async () => {
  const sighting = keepers.expect(caller(), [changed(3)]);
  tell('billing', 3);
  tell('catalog', 3);
  expect((await isSeen(sighting))()).toBe(true);
});

it('nothing waits for what nobody keeps, or without a caller who waits', () => {
  expect(keepers.expect(caller(), [{ ...changed(2), aggregate: 'member' }])).toBeUndefined();
  expect(keepers.expect(caller(15, Number.POSITIVE_INFINITY), [changed(2)])).toBeUndefined();
  expect(keepers.expect(caller(15, clock.wall()), [changed(2)])).toBeUndefined();
});

it('a keeper that is silent for a second holds up one answer, and the next ones once it is heard of again', async () => {
  const seen = await isSeen(keepers.expect(caller(), [changed(2)]));
  tell('catalog', 2);
  await jest.advanceTimersByTimeAsync(999);
  expect(seen()).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(seen()).toBe(true);
  const next = await isSeen(keepers.expect(caller(), [changed(3)]));
  tell('catalog', 3);
  await jest.advanceTimersByTimeAsync(0);
  expect(next()).toBe(true);
  tell('billing', 2);
  const again = await isSeen(keepers.expect(caller(), [changed(4)]));
  tell('catalog', 4);
  await jest.advanceTimersByTimeAsync(0);
  expect(again()).toBe(false);
});
