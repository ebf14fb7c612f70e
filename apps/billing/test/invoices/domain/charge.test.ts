import { describe, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import {
  type ChargeOutcome,
  type ChargeReport,
  chargeAction,
  chargeIdempotencyKey,
  isUndecided,
  pollDelay,
  type ReportedMoney,
  requestCapture,
  sendingOf,
  statesMoney,
} from '../../../src/invoices/domain/charge.js';
import type { Invoice } from '../../../src/invoices/domain/invoice.js';
import { chargeOutcomes, type Payment, paymentLifecycle } from '../../../src/invoices/domain/payment.js';

const reference = 'ch_1';
const payment = (over: Partial<Payment> = {}) =>
  ({
    paymentId: 'pay_1',
    status: 'created',
    outcome: 'sending',
    attempt: 2,
    captureId: '',
    inquiries: 0,
    gatewayPaymentId: '',
    modifyTime: 0,
    gatewayId: 7,
    currency: 'USD',
    totalAmount: 500n,
    ...over,
  }) as Payment;
const invoice = (over: Partial<Invoice> = {}) => ({ paymentId: 'pay_1', status: 'processing', ...over }) as Invoice;
const outcomes: ChargeOutcome[] = [
  ...(['succeeded', 'authorised'] as const).map(is => ({ is, reference, amount: 500n, currency: 'USD' })),
  ...(['cancelled', 'unknown'] as const).map(is => ({ is, reference })),
  { is: 'declined', kind: 'soft', reason: 'insufficient_funds', reference },
  { is: 'needsAction', link: 'https://pay.example.com', reference },
  { is: 'absent' },
];
const report = (outcome: ChargeOutcome, over: Partial<ChargeReport> = {}): ChargeReport => ({
  paymentId: 'pay_1',
  attempt: 2,
  gatewayId: 7,
  by: 'callback',
  outcome,
  ...over,
});
const action = (outcome: ChargeOutcome, over: Partial<Payment> = {}, attempt = 2, of = invoice()) =>
  chargeAction(payment(over), of, report(outcome, { attempt }));
const paid = (over: Partial<ReportedMoney> = {}): ReportedMoney => ({
  is: 'succeeded',
  reference,
  amount: 500n,
  currency: 'USD',
  ...over,
});
const actions = (over: Partial<Payment>, attempt?: number) =>
  Object.fromEntries(outcomes.map(outcome => [outcome.is, action(outcome, over, attempt)]));

describe('a report about', () => {
  it('an attempt that was sent settles it, or has it asked for', () => {
    expect(actions({})).toEqual({
      succeeded: 'collect',
      authorised: 'authorise',
      cancelled: 'fail',
      unknown: 'poll',
      declined: 'fail',
      needsAction: 'requireAction',
      absent: 'retry',
    });
    expect(actions({ outcome: 'unknown' })).toEqual(actions({}));
  });

  it('a charge that waits for its user or for a capture says nothing new where it repeats that', () => {
    expect(actions({ outcome: 'action' })).toMatchObject({ needsAction: 'poll', unknown: 'poll', absent: 'ignore' });
    expect(actions({ outcome: 'authorised' })).toMatchObject({ authorised: 'ignore', unknown: 'ignore' });
    expect(actions({ outcome: 'authorised', captureId: 'c' })).toMatchObject({
      authorised: 'authorise',
      unknown: 'poll',
    });
  });

  it('an earlier sending counts only if it brings money', () => {
    const { succeeded, ...others } = actions({}, 1);
    expect(succeeded).toBe('collect');
    expect(new Set(Object.values(others))).toEqual(new Set(['ignore']));
  });

  it('an ended payment ends its charge; money becomes a surplus', () => {
    for (const status of ['failed', 'cancelled'] as const) {
      expect(actions({ status, outcome: 'unknown' })).toEqual({
        succeeded: 'overpaid',
        authorised: 'poll',
        cancelled: 'close',
        unknown: 'poll',
        declined: 'close',
        needsAction: 'poll',
        absent: 'close',
      });
      const { succeeded, ...others } = actions({ status, outcome: '' });
      expect(succeeded).toBe('overpaid');
      expect(new Set(Object.values(others))).toEqual(new Set(['ignore']));
    }
  });

  it('a payment that succeeded says nothing, unless it is other money', () => {
    const success = { status: 'success', outcome: '', gatewayPaymentId: reference } as const;
    expect(new Set(Object.values(actions(success)))).toEqual(new Set(['ignore']));
    expect(action(paid({ reference: 'ch_2' }), success)).toBe('overpaid');
  });

  it('money is collected only for the current payment of an open invoice', () => {
    const succeeded = paid();
    expect(action(succeeded, {}, 2, invoice({ status: 'cancelled' }))).toBe('overpaid');
    expect(action(succeeded, {}, 2, invoice({ paymentId: 'pay_2' }))).toBe('overpaid');
  });

  it('any state is judged, and twice the same report never collects or fails twice', () => {
    for (const status of paymentLifecycle.states) {
      for (const outcome of chargeOutcomes) {
        for (const said of outcomes) expect(action(said, { status, outcome })).toBeDefined();
      }
    }
    expect(action({ is: 'declined', kind: 'hard', reason: '', reference }, { status: 'failed', outcome: '' })).toBe(
      'ignore',
    );
  });
});

describe('reported money', () => {
  const states = paymentLifecycle.states.flatMap(status =>
    chargeOutcomes.flatMap(outcome => ['', reference].map(gatewayPaymentId => ({ status, outcome, gatewayPaymentId }))),
  );
  const ofInvoice = [invoice(), invoice({ status: 'cancelled' }), invoice({ paymentId: 'pay_2' })];

  it('of another currency, gateway or sending, or none at all, pays nothing in whatever state', () => {
    const foreign: [Partial<ReportedMoney>, Partial<ChargeReport>][] = [
      ...['JPY', 'EUR', 'usd', ''].map((currency): [object, object] => [{ currency }, {}]),
      ...[0, 6, 8, -7].map((gatewayId): [object, object] => [{}, { gatewayId }]),
      ...[0, 3, 99].map((attempt): [object, object] => [{}, { attempt }]),
      ...[0n, -1n, -500n].map((amount): [object, object] => [{ amount }, {}]),
      [{ amount: 1n, currency: 'JPY' }, {}],
      [{ currency: 'JPY' }, { gatewayId: 8, attempt: 0 }],
    ];
    for (const over of states) {
      for (const of of ofInvoice) {
        for (const [money, told] of foreign) {
          for (const is of ['succeeded', 'authorised'] as const) {
            const said = chargeAction(payment(over), of, report(paid({ ...money, is }), told));
            const isKnown = is === 'succeeded' && over.status === 'success' && over.gatewayPaymentId === reference;
            expect([over, money, told, said]).toEqual([over, money, told, isKnown ? 'ignore' : 'mismatch']);
          }
        }
      }
    }
  });

  it('of its own is judged alike, whatever the amount', () => {
    for (const over of states) {
      for (const of of ofInvoice) {
        const judged = [1n, 499n, 500n, 501n, 1_000_000n].map(amount =>
          chargeAction(payment(over), of, report(paid({ amount }))),
        );
        expect(new Set(judged).size).toBe(1);
        expect(judged).not.toContain('mismatch');
      }
    }
  });

  it('a decline or question of another gateway says nothing', () => {
    const others = outcomes.filter(outcome => !statesMoney(outcome));
    for (const over of states) {
      for (const outcome of others) {
        expect(chargeAction(payment(over), invoice(), report(outcome, { gatewayId: 8 }))).toBe('ignore');
      }
    }
  });
});

describe('inquiries', () => {
  it('wait a minute, then twice as long each time, up to six hours', () => {
    const waits = [0, 1, 2, 8, 9, 50].map(inquiries => pollDelay({ inquiries, outcome: 'unknown' }));
    expect(waits).toEqual([60, 120, 240, 15_360, 21_600, 21_600]);
    expect([0, 1, 9].map(inquiries => pollDelay({ inquiries, outcome: 'action' }))).toEqual([3_600, 7_200, 21_600]);
    // its payment has ended: the charge is to be released
    expect(pollDelay({ inquiries: 0, outcome: 'action', status: 'cancelled' })).toBe(60);
  });

  it('hold up the deadline while they decide it', () => {
    const undecided = chargeOutcomes.filter(outcome => isUndecided(payment({ outcome })));
    expect(undecided).toEqual(['sending', 'unknown']);
    expect(isUndecided(payment({ outcome: 'authorised', captureId: 'c' }))).toBe(true);
    expect(isUndecided(payment({ status: 'failed', outcome: 'unknown' }))).toBe(false);
    expect(isUndecided(undefined)).toBe(false);
  });
});

it('a key names its sending; others name none', () => {
  expect(sendingOf(chargeIdempotencyKey({ paymentId: 'pay_01abc', attempt: 3 }))).toEqual({
    paymentId: 'pay_01abc',
    attempt: 3,
  });
  for (const key of ['pay_1', 're_1-1', 'pay_1-', 'pay_1-x', '']) expect(sendingOf(key)).toBeUndefined();
});

it('a capture is asked for once, of what is authorised', () => {
  const authorised = payment({ outcome: 'authorised' });
  const asked = requestCapture(authorised, 'c', 5);
  expect(asked).toMatchObject({ captureId: 'c', modifyTime: 5 });
  expect(requestCapture(asked, 'c', 9)).toBe(asked);
  const slugOf = (run: () => unknown) => {
    try {
      return run();
    } catch (error) {
      return error instanceof Rejected && error.slug;
    }
  };
  expect(slugOf(() => requestCapture(asked, 'd', 9))).toBe('payment_not_authorised');
  expect(slugOf(() => requestCapture(payment(), 'c', 9))).toBe('payment_not_authorised');
  expect(slugOf(() => requestCapture(payment({ status: 'failed' }), 'c', 9))).toBe('payment_not_open');
});
