import type { Interval } from '@recur/kernel';
import fc from 'fast-check';
import type { RequestedEffect } from '../../../src/subscriptions/domain/changes.js';

/** The choice of a subscription: a plan by its place in `plans`, and quantities of the two add-ons (0: without). */
export interface Wish {
  plan: number;
  quantity: number;
  addons: readonly [number, number];
}

/** A step of a history. `part` is its place in the period under way, in thousandths. */
export type Step =
  /** Lives on to the end of the period, which is renewed. */
  | { do: 'renew' }
  | { do: 'change'; part: number; wish: Wish; effect: RequestedEffect; paid: boolean }
  | { do: 'extend'; part: number; hours: number }
  | { do: 'dueDay'; part: number; day: number }
  | { do: 'use'; part: number; units: number };

export type Beginning =
  | { is: 'full' }
  | { is: 'stub'; day: number }
  | { is: 'trial'; seconds: number; price: number }
  | { is: 'steps'; prices: readonly [number, number] }
  | { is: 'free'; seconds: number };

export type Code = {
  recurring: boolean;
  cycleLimit: number;
  terms: { kind: 'percentage'; percentage: number } | { kind: 'fixed'; amount: bigint };
};

/** The life of a subscription, from its terms alone. Money is minor units of EUR, times are unix seconds. */
export interface History {
  zone: string;
  start: number;
  /** The first two plans have the first interval, the third has the second. */
  intervals: readonly [Interval, Interval];
  plans: readonly [number, number, number];
  addons: readonly [number, number];
  begin: Beginning;
  wish: Wish;
  buyer: 'EE' | 'DE' | 'LU' | 'business' | 'none';
  /** Percentage that an API key stated, 0 for none. */
  taxPercentage: number;
  code: Code | undefined;
  /** Promo credits, and what one is worth in hundredths. */
  promo: { balance: bigint; rate: bigint } | undefined;
  /** Prices of usage of the plans, and units that are free; undefined where none is sold. */
  meter: { prices: readonly [number, number, number]; freeUnits: number } | undefined;
  /** Hours between attempts to charge, which no life depends on that is billed in time. */
  retryHours: number;
  steps: readonly Step[];
  ending: { part: number; prorate: boolean; invoiceNow: boolean };
}

export const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kathmandu',
  'Pacific/Chatham',
  'Africa/Casablanca',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
  'Pacific/Apia',
] as const;

const interval = (unit: Interval['unit'], count: number): Interval => ({ unit, count });
/** No two of the same length: their order is that of the rules. */
const intervals: readonly Interval[] = [
  interval('day', 1),
  interval('day', 10),
  interval('week', 1),
  interval('week', 2),
  interval('month', 1),
  interval('month', 1),
  interval('month', 1),
  interval('month', 3),
  interval('month', 6),
  interval('year', 1),
];

const price = fc.oneof(fc.integer({ min: 1, max: 50_000 }), fc.integer({ min: 1, max: 9 }));
const part = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 999 }) },
  // in the lead of the next invoice, or after its charge
  { weight: 1, arbitrary: fc.integer({ min: 940, max: 999 }) },
);
const wish: fc.Arbitrary<Wish> = fc.record({
  plan: fc.nat(2),
  quantity: fc.integer({ min: 1, max: 9 }),
  addons: fc.tuple(fc.nat(3), fc.nat(3)),
});
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
const days = (least: number, most: number) => fc.integer({ min: least * 86_400, max: most * 86_400 });
const begin: fc.Arbitrary<Beginning> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ is: 'full' as const }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('stub' as const), day: fc.integer({ min: 1, max: 31 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('trial' as const), seconds: days(1, 40), price: fc.nat(3000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('steps' as const), prices: fc.tuple(fc.nat(900), fc.nat(9000)) }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('free' as const), seconds: days(1, 20) }) },
);
const code: fc.Arbitrary<Code> = fc.record({
  recurring: fc.boolean(),
  cycleLimit: fc.nat(4),
  terms: fc.oneof(
    fc.record({ kind: fc.constant('percentage' as const), percentage: fc.integer({ min: 1, max: 10_000 }) }),
    fc.record({ kind: fc.constant('fixed' as const), amount: fc.nat(20_000).map(BigInt) }),
  ),
});
const promo = fc.record({
  balance: fc.nat(900).map(BigInt),
  rate: fc.constantFrom(1n, 30n, 100n, 1000n),
});
const unitPrice = fc.integer({ min: 1, max: 3 });
const meter = fc.record({ prices: fc.tuple(unitPrice, unitPrice, unitPrice), freeUnits: fc.nat(20) });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

/** From 2024, so that rates change under way, and far into the future. */
const start = fc.oneof(
  fc.integer({ min: 1_704_067_200, max: 1_830_297_600 }),
  fc.integer({ min: 1_830_297_600, max: 4_000_000_000 }),
);

export const histories: fc.Arbitrary<History> = fc.record({
  zone: fc.constantFrom(...zones),
  start,
  begin,
  wish,
  code: maybe(code),
  promo: maybe(promo),
  intervals: fc.tuple(fc.constantFrom(...intervals), fc.constantFrom(...intervals)),
  plans: fc.tuple(price, price, price),
  addons: fc.tuple(price, price),
  buyer: fc.constantFrom('EE' as const, 'DE' as const, 'LU' as const, 'business' as const, 'none' as const),
  taxPercentage: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3000) }),
  meter: maybe(meter),
  retryHours: fc.constantFrom(1, 12, 100),
  steps: fc.array(step, { minLength: 1, maxLength: 9 }),
  ending: fc.record({ part, prorate: fc.boolean(), invoiceNow: fc.boolean() }),
});
