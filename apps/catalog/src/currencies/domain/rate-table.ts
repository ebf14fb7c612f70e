import { crossRate, type Rate, rateOf } from '@recur/kernel';

/** Rates published by a source for one moment: units of each currency per major unit of `base`. */
export interface RateTable {
  source: string;
  /** Unix second the rates apply to. */
  at: number;
  base: string;
  rates: ReadonlyMap<string, Rate>;
}

export interface Pair {
  from: string;
  to: string;
  rate: Rate;
}

/** Cross rates between all currencies of a table including the base, each rounded once; rates that round to 0 are omitted. */
export function pairsOf({ base, rates }: RateTable): Pair[] {
  const all = [...rates, [base, rateOf(1)] as const];
  return all
    .flatMap(([from, ofFrom]) => all.map(([to, ofTo]) => ({ from, to, rate: crossRate(ofFrom, ofTo) })))
    .filter(({ rate }) => rate > 0n);
}

const staleAfterSeconds = 48 * 3600;

/** True when rates of `at` are older than 48 hours. Stale rates are still used: an old rate is better than none. */
export const isStale = (at: number, now: number) => now - at > staleAfterSeconds;

const aheadSeconds = 24 * 3600;

/** True when rates are dated in the future: they would stay the newest for too long. */
export const isAhead = (at: number, now: number) => at - now > aheadSeconds;
