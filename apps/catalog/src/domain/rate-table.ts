import { crossRate, type Rate, rateOf } from '@recur/kernel';

/** What a source says of one moment: how much of each currency one major unit of `base` is. */
export interface RateTable {
  source: string;
  /** Unix second of which the rates are. */
  at: number;
  base: string;
  rates: ReadonlyMap<string, Rate>;
}

export interface Pair {
  from: string;
  to: string;
  rate: Rate;
}

/** The rates between all currencies of a table, the base included, each rounded once. One too small to be told is none. */
export function pairsOf({ base, rates }: RateTable): Pair[] {
  const all = [...rates, [base, rateOf(1)] as const];
  return all
    .flatMap(([from, ofFrom]) => all.map(([to, ofTo]) => ({ from, to, rate: crossRate(ofFrom, ofTo) })))
    .filter(({ rate }) => rate > 0n);
}

const staleAfterSeconds = 48 * 3600;

/** Whether rates of `at` are older than 48 hours. They still serve: an old rate is better than none. */
export const isStale = (at: number, now: number) => now - at > staleAfterSeconds;

const aheadSeconds = 24 * 3600;

/** Whether rates are of a day that is still to come: they would be the newest for long. */
export const isAhead = (at: number, now: number) => at - now > aheadSeconds;
