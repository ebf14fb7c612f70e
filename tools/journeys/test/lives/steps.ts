import fc from 'fast-check';
import type { Interval } from '../../model/terms.js';
import type { Step } from './living.js';
import { promoRates } from './sold.js';
import type { Paying } from './subscriber.js';
import { type DrawnTerms, terms, wish } from './terms.js';
import { type Transfer, wireKinds } from './transfers.js';

const stepKinds = [
  'change',
  'extend',
  'dueDay',
  'use',
  'card',
  'approve',
  'endLater',
  'keep',
  'cancel',
  'refund',
] as const satisfies readonly Step['do'][];
/** Kinds of what comes about in lives. */
export const kinds: readonly string[] = [...stepKinds, ...wireKinds];

/** Candidates of a round: the first that its rules allow is made. */
const CANDIDATES = 4;

const card = fc.constantFrom('pays', 'pays', 'pays', 'paysLate', 'declines', 'declinesForGood', 'asks');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ do: 'nothing' as const }) },
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
  { weight: 3, arbitrary: fc.constant({ do: 'approve' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'endLater' as const }) },
  { weight: 3, arbitrary: fc.constant({ do: 'keep' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('cancel' as const), prorate: fc.boolean(), invoiceNow: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      which: fc.nat(9),
      part: fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.constant(1000)),
    }),
  },
);
const transfer: fc.Arbitrary<Transfer> = fc.record({
  when: fc.constantFrom('soon', 'soon', 'soon', 'soon', 'begun', 'begun', 'last', 'last', 'tooLate', 'tooLate'),
  pays: fc.constantFrom('due', 'due', 'due', 'short', 'much'),
  part: fc.integer({ min: 1, max: 999 }),
});

/** A wire for each day would be too many moves of the clock. */
const longer = (interval: Interval): Interval => (interval.unit === 'day' ? { unit: 'day', count: 10 } : interval);
const lived: fc.Arbitrary<Omit<Lived, 'steps'>> = fc.record({
  terms,
  currency: fc.constantFrom(...Object.keys(promoRates)),
  card: fc.oneof({ weight: 3, arbitrary: card }, { weight: 1, arbitrary: fc.constant('wire' as const) }),
  transfers: fc.array(transfer, { minLength: 6, maxLength: 6 }),
});
function byWire<L extends Omit<Lived, 'steps'>>(of: L): L {
  const [first, second] = of.terms.intervals;
  return of.card === 'wire' ? { ...of, terms: { ...of.terms, intervals: [longer(first), longer(second)] } } : of;
}

/** A life as it is drawn: for each round the candidates of its step. */
export interface Lived extends Omit<Paying, 'gatewayId'> {
  terms: DrawnTerms;
  steps: readonly (readonly Step[])[];
}

/** Lives of some rounds. */
export function drawnLife(rounds: number): fc.Arbitrary<Lived> {
  const candidates = fc.array(step, { minLength: CANDIDATES, maxLength: CANDIDATES });
  const steps = fc.array(candidates, { minLength: rounds, maxLength: rounds });
  return fc.tuple(lived.map(byWire), steps).map(([of, steps]) => ({ ...of, steps }));
}
