import { describe, expect, it } from '@jest/globals';
import type { Interval, Rejected } from '@recur/kernel';
import { changeDeadline, daysAfter } from '../../../src/invoices/domain/deadlines.js';
import {
  assertDeferrable,
  type ChangeableState,
  type ChangeContext,
  type ChangeDecision,
  changeMode,
  decideChange,
  prorationDateOf,
  type Terms,
} from '../../../src/subscriptions/domain/changes.js';
import { addon, month, plan, terms } from './change-samples.js';

const context: ChangeContext = {
  requested: 'byRules',
  paidActive: true,
  downgradeEffectImmediately: false,
  upgradeProration: true,
};

const refusalOf = (run: () => unknown): Rejected => {
  try {
    run();
  } catch (error) {
    return error as Rejected;
  }
  throw new Error('not refused');
};

const every = (unit: Interval['unit'], count = 1): Interval => ({ unit, count });

describe('now or at the end of the period', () => {
  const cheap = terms([plan(1000n)]);
  const dear = terms([plan(2000n)]);
  const cases: [
    name: string,
    from: Terms,
    to: Terms,
    over: Partial<ChangeContext>,
    expected: Partial<ChangeDecision>,
  ][] = [
    ['more costs: now', cheap, dear, {}, { effect: 'now', direction: 'upgrade', billed: true, newInterval: false }],
    ['less costs: at the end', dear, cheap, {}, { effect: 'periodEnd', direction: 'downgrade' }],
    ['a request for now', dear, cheap, { requested: 'now' }, { effect: 'now', billed: true }],
    ['a request for the end', cheap, dear, { requested: 'periodEnd' }, { effect: 'periodEnd', direction: 'upgrade' }],
    ['a trial: now, nothing is billed', dear, cheap, { paidActive: false }, { effect: 'now', billed: false }],
    [
      'downgrades now by config',
      dear,
      cheap,
      { downgradeEffectImmediately: true },
      { effect: 'now', direction: 'downgrade', billed: true },
    ],
    [
      'a longer interval: now',
      dear,
      terms([plan(1000n)], { interval: every('year') }),
      {},
      { effect: 'now', direction: 'upgrade', newInterval: true, billed: true },
    ],
    [
      'a shorter interval: at the end, whatever it costs',
      cheap,
      terms([plan(5000n)], { interval: every('week') }),
      {},
      { effect: 'periodEnd', direction: 'downgrade', newInterval: true },
    ],
    [
      '13 weeks are longer than 3 months',
      terms([plan(1000n)], { interval: every('month', 3) }),
      terms([plan(1000n)], { interval: every('week', 13) }),
      {},
      { direction: 'upgrade', effect: 'now' },
    ],
    [
      '3 × 1000 + add-on 500 → 2 × 1800: an upgrade',
      terms([plan(1000n, 3), addon(7, 500n)]),
      terms([plan(1800n, 2, 2)]),
      {},
      { effect: 'now', direction: 'upgrade' },
    ],
    [
      'an equal price: now, without lines',
      terms([plan(1000n, 2)]),
      terms([plan(2000n, 1, 2)]),
      {},
      { effect: 'now', direction: 'equal', billed: false },
    ],
    [
      'an equal price that is asked for now has lines',
      terms([plan(1000n, 2)]),
      terms([plan(2000n, 1, 2)]),
      { requested: 'now' },
      { effect: 'now', direction: 'equal', billed: true },
    ],
    [
      'another currency: at the end only',
      cheap,
      terms([plan(2000n)], { currency: 'USD' }),
      {},
      { effect: 'periodEnd', direction: 'upgrade' },
    ],
    [
      'without proration: now, without lines',
      cheap,
      dear,
      { upgradeProration: false },
      { effect: 'now', billed: false },
    ],
  ];

  it.each(cases)('%s', (_, from, to, over, expected) => {
    expect(decideChange(from, to, { ...context, ...over })).toMatchObject(expected);
  });

  it('refuses another currency at once', () => {
    const to = terms([plan(2000n)], { currency: 'USD' });
    const { slug } = refusalOf(() => decideChange(terms([plan(1000n)]), to, { ...context, requested: 'now' }));
    expect(slug).toBe('invalid_parameters');
  });

  it('takes 30 days and a month for the same length, and starts a new period', () => {
    const to = terms([plan(1000n)], { interval: every('day', 30) });
    expect(decideChange(terms([plan(1000n)], { interval: month }), to, context)).toMatchObject({
      direction: 'equal',
      effect: 'now',
      newInterval: true,
      billed: true,
    });
  });
});

describe('states', () => {
  const state: ChangeableState = {
    subscriptionId: 'sub_1',
    status: 'active',
    inTrial: false,
    cancelAtPeriodEnd: false,
  };

  it.each([
    ['active', false, 'billed'],
    ['active', true, 'trial'],
    ['incomplete', false, 'incomplete'],
  ] as const)('%s, in a trial %p: %s', (status, inTrial, mode) => {
    expect(changeMode({ ...state, status, inTrial })).toBe(mode);
  });

  it.each(['init', 'pending', 'processing', 'cancelled', 'expired', 'failed'] as const)('%s: refused', status => {
    expect(refusalOf(() => changeMode({ ...state, status })).slug).toBe('subscription_wrong_state');
  });

  it('refuses a deferred change of a subscription that ends with its period', () => {
    assertDeferrable(state);
    expect(refusalOf(() => assertDeferrable({ ...state, cancelAtPeriodEnd: true })).slug).toBe(
      'subscription_wrong_state',
    );
  });
});

describe('a quote that holds', () => {
  const period = { start: 100_000, end: 200_000, changed: 0 };

  it('is of now unless it is given, and at most an hour old', () => {
    expect(prorationDateOf(0, 150_000, period)).toBe(150_000);
    expect(prorationDateOf(146_400, 150_000, period)).toBe(146_400);
    expect(prorationDateOf(150_000, 150_000, period)).toBe(150_000);
  });

  it.each([
    ['older than an hour', 146_399, 150_000],
    ['in the future', 150_001, 150_000],
    ['before the period', 99_999, 100_100],
    ['after the period', 200_000, 200_001],
    ['before the last change', 147_999, 150_000],
  ])('%s: refused', (_, given, now) => {
    expect(
      refusalOf(() => prorationDateOf(given, now, { ...period, changed: now === 150_000 ? 148_000 : 0 })).slug,
    ).toBe('invalid_parameters');
  });

  it('lapses after an hour, at the due time of a wire, or with the period', () => {
    expect(changeDeadline({ submitted: 150_000, periodEnd: 200_000 })).toBe(153_600);
    expect(changeDeadline({ submitted: 199_000, periodEnd: 200_000 })).toBe(200_000);
    const wireDue = daysAfter(150_000, 3);
    expect(changeDeadline({ submitted: 150_000, wireDue, periodEnd: 900_000 })).toBe(150_000 + 3 * 86_400);
    expect(changeDeadline({ submitted: 150_000, wireDue, periodEnd: 200_000 })).toBe(200_000);
  });
});
