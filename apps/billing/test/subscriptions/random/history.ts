import fc from 'fast-check';
import type { RequestedEffect, Terms, Wish } from '../../../../../tools/journeys/model/terms.js';
import { terms, wish } from '../../../../../tools/journeys/test/lives/terms.js';

/** A step of a history. `part` is its place in the period under way, in thousandths. */
export type Step =
  /** Lives on to the end of the period, which is renewed. */
  | { do: 'renew' }
  | { do: 'change'; part: number; wish: Wish; effect: RequestedEffect; paid: boolean }
  | { do: 'extend'; part: number; hours: number }
  | { do: 'dueDay'; part: number; day: number }
  | { do: 'use'; part: number; units: number };

/** The life of a subscription, from its terms alone. Money is minor units of EUR. */
export interface History extends Terms {
  /** Hours between attempts to charge, which no life depends on that is billed in time. */
  retryHours: number;
  steps: readonly Step[];
  ending: { part: number; prorate: boolean; invoiceNow: boolean };
}

const part = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 999 }) },
  // in the lead of the next invoice, or after its charge
  { weight: 1, arbitrary: fc.integer({ min: 940, max: 999 }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ do: 'renew' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      part,
      wish,
      paid: fc.integer({ min: 0, max: 5 }).map(n => n > 0),
      effect: fc.constantFrom('byRules' as const, 'now' as const, 'periodEnd' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('extend' as const), part, hours: fc.integer({ min: 1, max: 900 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('dueDay' as const), part, day: fc.integer({ min: 1, max: 31 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('use' as const), part, units: fc.integer({ min: 1, max: 90 }) }),
  },
);
/** From 2024, so that rates change under way, and far into the future. */
const start = fc.oneof(
  fc.integer({ min: 1_704_067_200, max: 1_830_297_600 }),
  fc.integer({ min: 1_830_297_600, max: 4_000_000_000 }),
);

export const histories: fc.Arbitrary<History> = fc
  .record({
    terms,
    start,
    prorates: fc.integer({ min: 0, max: 3 }).map(n => n > 0),
    retryHours: fc.constantFrom(1, 12, 100),
    steps: fc.array(step, { minLength: 1, maxLength: 9 }),
    ending: fc.record({ part, prorate: fc.boolean(), invoiceNow: fc.boolean() }),
  })
  .map(({ terms: sold, ...life }) => ({ ...sold, ...life, digits: 2, creditPays: false }));
