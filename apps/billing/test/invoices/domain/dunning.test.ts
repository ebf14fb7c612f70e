import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  daysAfter,
  daysUntil,
  extendedDeadline,
  reminderTime,
  renewalDeadline,
} from '../../../src/invoices/domain/deadlines.js';
import {
  type Collection,
  type DunningConfig,
  isAttemptDue,
  isMissedAttempt,
  newCollection,
  recordAttempt,
  skipAttempt,
} from '../../../src/invoices/domain/dunning.js';

const hours = 3600;
const days = 24 * hours;
const config: DunningConfig = { retryIntervalSeconds: 12 * hours, maxRetries: 0, incompleteExpireSeconds: 24 * hours };
const seconds = (iso: string) => Date.parse(`${iso}Z`) / 1000;

/** Automatic attempts: the charge time, then every retry interval; none at or after the deadline. */
function attemptTimes(chargeTime: number, deadline: number, config: DunningConfig): number[] {
  const { retryIntervalSeconds, maxRetries } = config;
  const times: number[] = [];
  for (let time = chargeTime; time < deadline; time += retryIntervalSeconds) {
    if (maxRetries !== 0 && times.length > maxRetries) break;
    times.push(time);
  }
  return times;
}

describe('attempts', () => {
  const P = seconds('2026-03-31T00:00:00');
  const deadline = renewalDeadline(P, P - 2 * hours, config);

  it('by default are at P − 2 h, P + 10 h and P + 22 h, the deadline at P + 24 h', () => {
    expect(deadline).toBe(P + 24 * hours);
    expect(attemptTimes(P - 2 * hours, deadline, config)).toEqual([P - 2 * hours, P + 10 * hours, P + 22 * hours]);
  });

  it('end after the most retries, and before the deadline', () => {
    expect(attemptTimes(P, deadline, { ...config, maxRetries: 1 })).toEqual([P, P + 12 * hours]);
    expect(attemptTimes(deadline, deadline, config)).toEqual([]);
  });

  it('are announced a last time a day before the deadline, or at P where that is later', () => {
    expect(reminderTime(deadline, P)).toBe(P);
    expect(reminderTime(P + 3 * days, P)).toBe(P + 2 * days);
    expect(reminderTime(P + hours, P)).toBe(P);
  });
});

describe('deadlines', () => {
  it('month, lead 3 d, P = 2026-03-31: made 03-28, open until 04-01T00:00', () => {
    const P = seconds('2026-03-31T00:00:00');
    const made = P - 3 * days;
    expect(made).toBe(seconds('2026-03-28T00:00:00'));
    const deadline = renewalDeadline(P, P - 2 * hours, config);
    expect(deadline).toBe(seconds('2026-04-01T00:00:00'));
    expect(daysUntil(deadline, made)).toBe(4);
  });

  it('year, lead 15 d: one invoice, not five: it is open from its making until after P', () => {
    const P = seconds('2027-01-01T00:00:00');
    expect(renewalDeadline(P, P - 2 * hours, config)).toBe(P + days);
    expect(renewalDeadline(P, P - 15 * days, config)).toBe(P + days);
  });

  it('of a first invoice are some days after its finish', () => {
    expect(daysAfter(1000, 3)).toBe(1000 + 3 * days);
  });
});

describe('our downtime', () => {
  it('workers down 03-31T20:00 → 04-03T08:00, P = 04-01: attempt 04-03T08:00, deadline 04-04T08:00', () => {
    const P = seconds('2026-04-01T00:00:00');
    const attempt = Math.max(P - 2 * hours, seconds('2026-04-03T08:00:00'));
    const deadline = renewalDeadline(P, attempt, config);
    expect(deadline).toBe(seconds('2026-04-04T08:00:00'));
    expect(attemptTimes(attempt, deadline, config)).toEqual([attempt, attempt + 12 * hours]);
  });

  it('leaves a retry interval after a delayed attempt', () => {
    expect(extendedDeadline(100 * hours, 95 * hours, 12 * hours)).toBe(107 * hours);
    expect(extendedDeadline(100 * hours, 80 * hours, 12 * hours)).toBe(100 * hours);
  });
});

describe('a collection', () => {
  const ids = { merchantId: 15, invoiceId: 'in_1' };
  const dunning = { retryIntervalSeconds: 12 * hours, maxRetries: 0, incompleteExpireSeconds: 24 * hours };
  /** Makes every attempt `late` seconds after its time; returns their times and the last deadline. */
  const run = (collection: Collection, deadline: number, late = 0) => {
    const times: number[] = [];
    let [current, end] = [collection, deadline];
    while (current.nextTime !== 0 && times.length < 100) {
      const now = current.nextTime + late;
      times.push(now);
      const made = recordAttempt(current, end, now, 'pm_1');
      [current, end] = [made.collection, made.deadline];
    }
    return { times, deadline: end };
  };

  it('makes the attempts that attemptTimes lists, for any terms', () => {
    fc.assert(
      fc.property(
        fc.nat(1_000),
        fc.integer({ min: 600, max: 5_000 }),
        fc.nat(5),
        fc.nat(50_000),
        (start, interval, most, span) => {
          const terms = { ...dunning, retryIntervalSeconds: interval, maxRetries: most, chargeTime: start + 1 };
          const deadline = start + 2 + span;
          const { times } = run(newCollection(ids, terms, 0), deadline);
          expect(times).toEqual(attemptTimes(start + 1, deadline, terms).slice(0, 100));
        },
      ),
    );
  });

  it('begins at its charge time, or at once where that is over; by hand it begins never', () => {
    expect(newCollection(ids, { chargeTime: 500 }, 100)).toMatchObject({ nextTime: 500, automatic: true });
    expect(newCollection(ids, { chargeTime: 50 }, 100)).toMatchObject({ nextTime: 100 });
    expect(newCollection(ids, { automatic: false }, 100)).toMatchObject({ nextTime: 0, automatic: false });
  });

  it('workers down 03-31T20:00 → 04-03T08:00, P = 04-01: attempt 04-03T08:00, deadline 04-04T08:00', () => {
    const P = seconds('2026-04-01T00:00:00');
    const planned = renewalDeadline(P, P - 2 * hours, dunning);
    const collection = newCollection(ids, { ...dunning, chargeTime: P - 2 * hours }, P - 3 * days);
    expect(isMissedAttempt(collection, planned)).toBe(true);
    const made = recordAttempt(collection, planned, seconds('2026-04-03T08:00:00'), 'pm_1');
    expect(made.deadline).toBe(seconds('2026-04-04T08:00:00'));
    expect(made.collection.nextTime).toBe(seconds('2026-04-03T20:00:00'));
  });

  it('leaves a retry interval after a delayed attempt that is not the first', () => {
    const first = recordAttempt(newCollection(ids, dunning, 1), 24 * hours, 1, 'pm_1');
    // scheduled at 12 h, made at 40 h
    const second = recordAttempt({ ...first.collection, nextTime: 12 * hours }, 24 * hours, 40 * hours, 'pm_1');
    expect([second.deadline, second.collection.nextTime]).toEqual([52 * hours, 0]);
  });

  it('counts no attempt beside its schedule, and keeps it', () => {
    const collection = { ...newCollection(ids, { ...dunning, chargeTime: 500 }, 0), tryNow: true, tryMethodId: 'pm_2' };
    expect(isAttemptDue(collection, 100)).toBe(true);
    const made = recordAttempt(collection, 9_999, 100, 'pm_2');
    expect(made).toMatchObject({ automatic: false, deadline: 9_999 });
    expect(made.collection).toEqual({
      ...collection,
      tryNow: false,
      tryMethodId: '',
      lastTime: 100,
      lastMethodId: 'pm_2',
    });
  });

  it('passes over an attempt that cannot be made, and goes on with the next', () => {
    const collection = newCollection(ids, dunning, 100);
    const passed = skipAttempt(collection, 99_999, 100);
    expect(passed).toEqual({ ...collection, nextTime: 100 + 12 * hours });
    expect(skipAttempt({ ...passed, tryNow: true, tryMethodId: 'pm_2' }, 99_999, 200)).toEqual(passed);
  });
});
