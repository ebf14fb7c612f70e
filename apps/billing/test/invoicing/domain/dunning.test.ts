import { describe, expect, it } from '@jest/globals';
import {
  attemptTimes,
  cycleDeadline,
  type DunningConfig,
  daysUntil,
  extendedDeadline,
  firstInvoiceDeadline,
  isParked,
  lastNoticeTime,
} from '../../../src/invoicing/domain/dunning.js';

const hours = 3600;
const days = 24 * hours;
const config: DunningConfig = { retryIntervalSeconds: 12 * hours, maxRetries: 0, incompleteExpireSeconds: 24 * hours };
const seconds = (iso: string) => Date.parse(`${iso}Z`) / 1000;

describe('C2 attempts', () => {
  const P = seconds('2026-03-31T00:00:00');
  const deadline = cycleDeadline(P, P - 2 * hours, config);

  it('by default are at P − 2 h, P + 10 h and P + 22 h, the deadline at P + 24 h', () => {
    expect(deadline).toBe(P + 24 * hours);
    expect(attemptTimes(P - 2 * hours, deadline, config)).toEqual([P - 2 * hours, P + 10 * hours, P + 22 * hours]);
  });

  it('end after the most retries, and before the deadline', () => {
    expect(attemptTimes(P, deadline, { ...config, maxRetries: 1 })).toEqual([P, P + 12 * hours]);
    expect(attemptTimes(deadline, deadline, config)).toEqual([]);
  });

  it('are announced a last time a day before the deadline, or at P where that is later', () => {
    expect(lastNoticeTime(deadline, P)).toBe(P);
    expect(lastNoticeTime(P + 3 * days, P)).toBe(P + 2 * days);
    expect(lastNoticeTime(P + hours, P)).toBe(P);
  });
});

describe('C3 deadlines', () => {
  it('month, lead 3 d, P = 2026-03-31: made 03-28, open until 04-01T00:00', () => {
    const P = seconds('2026-03-31T00:00:00');
    const made = P - 3 * days;
    expect(made).toBe(seconds('2026-03-28T00:00:00'));
    const deadline = cycleDeadline(P, P - 2 * hours, config);
    expect(deadline).toBe(seconds('2026-04-01T00:00:00'));
    expect(daysUntil(deadline, made)).toBe(4);
  });

  it('year, lead 15 d: one invoice, not five: it is open from its making until after P', () => {
    const P = seconds('2027-01-01T00:00:00');
    expect(cycleDeadline(P, P - 2 * hours, config)).toBe(P + days);
    expect(cycleDeadline(P, P - 15 * days, config)).toBe(P + days);
  });

  it('of a first invoice are some days after its finish', () => {
    expect(firstInvoiceDeadline(1000, 3)).toBe(1000 + 3 * days);
  });
});

describe('C4 our downtime', () => {
  it('workers down 03-31T20:00 → 04-03T08:00, P = 04-01: attempt 04-03T08:00, deadline 04-04T08:00', () => {
    const P = seconds('2026-04-01T00:00:00');
    const attempt = Math.max(P - 2 * hours, seconds('2026-04-03T08:00:00'));
    const deadline = cycleDeadline(P, attempt, config);
    expect(deadline).toBe(seconds('2026-04-04T08:00:00'));
    expect(attemptTimes(attempt, deadline, config)).toEqual([attempt, attempt + 12 * hours]);
  });

  it('leaves a retry interval after a delayed attempt', () => {
    expect(extendedDeadline(100 * hours, 95 * hours, 12 * hours)).toBe(107 * hours);
    expect(extendedDeadline(100 * hours, 80 * hours, 12 * hours)).toBe(100 * hours);
  });

  it('parks a subscription that missed more than three periods', () => {
    expect([3, 4].map(isParked)).toEqual([false, true]);
  });
});
