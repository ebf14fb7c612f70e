import { clockLimits, events } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { aggregate, flag, int, integer, table, text } from '@recur/platform';

/*
 * A sandbox merchant's clock and its last advance. Invariants: the offset never shrinks, one advance at a time, and an
 * advance that has begun ends at its target.
 */

export interface TestClock {
  merchantId: number;
  version: number;
  /** Seconds by which the clock is ahead of the machine's. */
  offsetSeconds: number;
  /** Unix second on the merchant's clock to which the last advance goes. */
  target: number;
  advancing: boolean;
  /** Items of due work that the last advance has come to. */
  done: number;
  /** The Idempotency-Key, or else the request id, of the last advance: a repeat waits for it and begins no other. */
  askedBy: string;
}

export const unmoved = (merchantId: number): TestClock => ({
  merchantId,
  version: 0,
  offsetSeconds: 0,
  target: 0,
  advancing: false,
  done: 0,
  askedBy: '',
});

/** Where an advance goes, in unix seconds. Throws Rejected `invalid_parameters` for the past, and for too far ahead. */
export function advanceTarget({ seconds, to }: { seconds?: number; to?: number }, now: number): number {
  const target = to ?? now + (seconds ?? 0);
  if (target < now) throw invalid('/to', `is before the clock's time, ${now}: a clock is never moved back`);
  if (target - now > clockLimits.advanceSeconds)
    throw invalid('/to', `is more than ${clockLimits.advanceSeconds} seconds ahead of ${now}`);
  return target;
}

/** Begins an advance. Throws Rejected `clock_advancing` while another one has not come to its end. */
export function beginAdvance(clock: TestClock, target: number, askedBy: string): TestClock {
  if (clock.advancing) {
    throw new Rejected('clock_advancing', `The clock is advancing to ${clock.target}: wait until it is ready`);
  }
  return { ...clock, target, advancing: true, done: 0, askedBy };
}

/** The clock after a step to `offset`, at which `items` of work are due. It has `arrived` where nothing is left to do. */
export const stepped = (clock: TestClock, step: { offset: number; items: number; arrived: boolean }): TestClock => ({
  ...clock,
  offsetSeconds: Math.max(clock.offsetSeconds, step.offset),
  done: clock.done + step.items,
  advancing: clock.advancing && !step.arrived,
});

export const testClocks = table<TestClock>('test_clocks', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    version: int(),
    offsetSeconds: integer(),
    target: integer(),
    advancing: flag(),
    done: int(),
    askedBy: text(),
  },
});

/** A merchant's clock; its events carry the time of the step, which other services follow. */
export const clockAggregate = aggregate({
  name: 'clock',
  title: 'TestClock',
  events,
  table: testClocks,
  key: 'merchantId',
});
