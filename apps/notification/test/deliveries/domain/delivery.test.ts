import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  afterAttempt,
  type Delivery,
  deliveryLifecycle,
  miss,
  newDelivery,
  type Outcome,
  replay,
  slotSeconds,
  verdictOf,
} from '../../../src/deliveries/domain/delivery.js';

const ids = { merchantId: 1, deliveryId: 'd1', endpointId: 7, eventId: 'ev_1' };
const startMs = Date.UTC(2026, 0, 31);
const status = (code: number, retryAfterSeconds?: number): Outcome => ({
  kind: 'answered',
  status: code,
  retryAfterSeconds,
});
const unreachable: Outcome = { kind: 'failed' };

/** Tries a delivery to its end with a clock that is moved to each due time; each attempt takes `attemptMs`. */
function run(outcomes: (attempt: number) => Outcome, jitter: (attempt: number) => number, attemptMs: number) {
  const gapsMs: number[] = [];
  let delivery = newDelivery(ids, true, startMs);
  let endMs = startMs;
  while (delivery.nextAtMs !== null) {
    gapsMs.push(delivery.nextAtMs - endMs);
    endMs = delivery.nextAtMs + attemptMs;
    delivery = afterAttempt(delivery, outcomes(delivery.attempts), endMs, jitter(delivery.attempts));
  }
  return { delivery, gapsMs };
}

const jitters = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
  minLength: 10,
  maxLength: 10,
});

describe('the schedule of a delivery', () => {
  it('tries ten times over 75 hours, each gap within a fifth of its slot, then fails', () => {
    const property = fc.property(jitters, fc.nat(15_000), (jitter, attemptMs) => {
      const { delivery, gapsMs } = run(
        () => status(500),
        n => jitter[n] ?? 0,
        attemptMs,
      );
      expect(delivery).toEqual({ ...ids, state: 'failed', attempts: 10, nextAtMs: null });
      expect(gapsMs).toHaveLength(10);
      gapsMs.forEach((gapMs, i) => {
        const slotMs = (slotSeconds[i] ?? 0) * 1000;
        expect(Math.abs(gapMs - slotMs)).toBeLessThanOrEqual(slotMs / 5);
      });
    });
    fc.assert(property);
  });

  it('waits exactly the slots where the jitter is in its middle: 75 h 35 min 5 s in all', () => {
    const { gapsMs } = run(
      () => unreachable,
      () => 0.5,
      1_000,
    );
    expect(gapsMs.map(ms => ms / 1000)).toEqual([0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
    expect(gapsMs.reduce((sum, ms) => sum + ms, 0)).toBe((75 * 3600 + 35 * 60 + 5) * 1000);
  });

  it('spans the whole jitter: four fifths of a slot at 0, six fifths just below 1', () => {
    const failedOnce = (jitter: number) => afterAttempt(newDelivery(ids, true, 0), unreachable, 0, jitter).nextAtMs;
    expect(failedOnce(0)).toBe(4_000);
    expect(failedOnce(0.999999)).toBe(6_000);
  });

  it('stops at the first success', () => {
    const { delivery, gapsMs } = run(
      n => status(n === 3 ? 204 : 503),
      () => 0.1,
      20,
    );
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 4, nextAtMs: null });
    expect(gapsMs).toHaveLength(4);
  });
});

describe('Retry-After', () => {
  const after = (seconds: number, jitter = 0.5) =>
    afterAttempt(newDelivery(ids, true, 0), status(429, seconds), 0, jitter).nextAtMs;

  it.each([
    ['within the slot it changes nothing', 3, 5_000],
    ['beyond the slot it is honoured', 8, 8_000],
    ['at twice the slot it is honoured', 10, 10_000],
    ['beyond twice the slot it is cut', 86_400, 10_000],
    ['zero changes nothing', 0, 5_000],
  ])('%s', (_, seconds, expected) => {
    expect(after(seconds)).toBe(expected);
  });

  it('never makes the wait shorter than the jittered slot', () => {
    expect(after(5, 0.999999)).toBe(6_000);
  });

  it('gives no eleventh attempt', () => {
    const { gapsMs } = run(
      () => status(503, 60),
      () => 0.5,
      0,
    );
    expect(gapsMs).toHaveLength(10);
  });
});

describe('what an outcome means', () => {
  it('takes 2xx for success, 410 for a wish to stop, and everything else for failure', () => {
    expect([200, 201, 202, 204, 299].map(code => verdictOf(status(code)))).toEqual(Array(5).fill('success'));
    expect(verdictOf(status(410))).toBe('gone');
    const failures = [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 409, 429, 500, 502, 503, 504, 599, 199];
    expect(failures.map(code => verdictOf(status(code)))).toEqual(failures.map(() => 'failure'));
    expect(verdictOf(unreachable)).toBe('failure');
  });
});

describe('the lifecycle of a delivery', () => {
  const inState: Record<string, Delivery> = {
    scheduled: newDelivery(ids, true, startMs),
    delivered: { ...ids, state: 'delivered', attempts: 1, nextAtMs: null },
    failed: { ...ids, state: 'failed', attempts: 10, nextAtMs: null },
    missed: newDelivery(ids, false, startMs),
  };

  it('begins missed where the endpoint is disabled, and due at once otherwise', () => {
    expect(inState.missed).toEqual({ ...ids, state: 'missed', attempts: 0, nextAtMs: null });
    expect(inState.scheduled).toEqual({ ...ids, state: 'scheduled', attempts: 0, nextAtMs: startMs });
  });

  it('leaves a delivery answered with 410 to be replayed later', () => {
    const gone = afterAttempt(newDelivery(ids, true, 0), status(410), 0, 0);
    expect(gone).toMatchObject({ state: 'missed', attempts: 1, nextAtMs: null });
  });

  it('replays from every state, with all attempts again', () => {
    for (const state of deliveryLifecycle.states) {
      const delivery = inState[state];
      if (delivery) expect(replay(delivery, 42)).toMatchObject({ state: 'scheduled', attempts: 0, nextAtMs: 42 });
    }
  });

  it('refuses every move that its table does not have', () => {
    const moves = {
      succeed: (d: Delivery) => afterAttempt(d, status(200), 0, 0),
      retry: (d: Delivery) => afterAttempt({ ...d, attempts: 0 }, status(500), 0, 0),
      exhaust: (d: Delivery) => afterAttempt({ ...d, attempts: 9 }, status(500), 0, 0),
      miss,
      replay: (d: Delivery) => replay(d, 0),
    };
    expect(Object.keys(moves).sort()).toEqual([...deliveryLifecycle.moves].sort());
    for (const state of deliveryLifecycle.states) {
      for (const move of deliveryLifecycle.moves) {
        const delivery = inState[state];
        if (!delivery) throw new Error(`no example of ${state}`);
        const next = deliveryLifecycle.next(state, move);
        if (next === undefined) expect(() => moves[move](delivery)).toThrow(`is ${state}: it cannot ${move}`);
        else expect(moves[move](delivery).state).toBe(next);
      }
    }
  });
});
