import fc from 'fast-check';
import type { Beginning, Code, Interval, Terms, Wish } from '../../model/terms.js';

const zones = [
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
export const wish: fc.Arbitrary<Wish> = fc.record({
  plan: fc.nat(2),
  quantity: fc.integer({ min: 1, max: 9 }),
  addons: fc.tuple(fc.nat(3), fc.nat(3)),
});
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
    fc.record({ kind: fc.constant('fixed' as const), amount: fc.integer({ min: 1, max: 20_000 }).map(BigInt) }),
  ),
});
const promo = fc.record({
  balance: fc.nat(900).map(BigInt),
  rate: fc.constantFrom(1n, 30n, 100n, 1000n),
});
const unitPrice = fc.integer({ min: 1, max: 3 });
const meter = fc.record({ prices: fc.tuple(unitPrice, unitPrice, unitPrice), freeUnits: fc.nat(20) });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

/** Terms without those of whoever sells. */
export type DrawnTerms = Omit<Terms, 'start' | 'digits' | 'creditPays' | 'prorates'>;

export const terms: fc.Arbitrary<DrawnTerms> = fc.record({
  zone: fc.constantFrom(...zones),
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
});
