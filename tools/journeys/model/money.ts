import type { Code, Terms } from './terms.js';

export const USAGE = 3;

// Money as it is done by hand, without a line of billing's pricing.

export interface Rate {
  category: string;
  ppm: bigint;
}

export interface ModelLine {
  /** 0 for the plan, 1 and 2 for the add-ons. */
  item: number;
  start: number;
  end: number;
  /** Minor units before discount, promo credit and tax; negative for a credit. */
  gross: bigint;
  rate: Rate;
  discount: bigint;
  promo: bigint;
  tax: bigint;
  /** Price of the item for a full period. */
  full: bigint;
  /** For a credit: the line that it gives back, and promo credits that come back with it. */
  source?: unknown;
  promoBack?: bigint;
}

/** a × b ÷ c, half away from zero. */
export function rounded(a: bigint, b: bigint, c: bigint): bigint {
  const product = a * b;
  const size = product < 0n ? -product : product;
  const whole = (size * 2n + c) / (c * 2n);
  return product < 0n ? -whole : whole;
}

/** A total as exact parts (numerators over `whole`) downwards, then one unit more by the largest fraction, the earlier first. */
export function leveled(total: bigint, parts: readonly bigint[], whole: bigint): bigint[] {
  const down = (part: bigint) => part / whole - (part < 0n && part % whole !== 0n ? 1n : 0n);
  const given = parts.map(down);
  const fractions = parts.map((part, at) => part - (given[at] ?? 0n) * whole);
  const order = parts.map((_, at) => at).sort((a, b) => Number((fractions[b] ?? 0n) - (fractions[a] ?? 0n)) || a - b);
  const left = Number(total - sum(given));
  for (const at of order.slice(0, left)) given[at] = (given[at] ?? 0n) + 1n;
  return given;
}

const shares = (total: bigint, weights: readonly bigint[]): bigint[] =>
  total === 0n
    ? weights.map(() => 0n)
    : leveled(
        total,
        weights.map(weight => weight * total),
        sum(weights),
      );

const plus = (amount: bigint) => (amount > 0n ? amount : 0n);
const least = (a: bigint, b: bigint) => (a < b ? a : b);
const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);

/** Takes off a discount and promo credit and adds tax; returns the promo credits that it costs. */
export function priced(
  lines: readonly ModelLine[],
  terms: Code['terms'] | undefined,
  promo: { balance: bigint; unit: bigint } | undefined,
): bigint {
  const base = sum(lines.map(({ gross }) => plus(gross)));
  const off = !terms
    ? 0n
    : terms.kind === 'fixed'
      ? least(terms.amount, base)
      : rounded(base, BigInt(terms.percentage), 10_000n);
  const offs = shares(
    off,
    lines.map(({ gross }) => plus(gross)),
  );
  lines.forEach((line, at) => {
    line.discount = offs[at] ?? 0n;
  });
  const left = plus(sum(lines.map(({ gross, discount }) => gross - discount)));
  const unit = promo?.unit ?? 1n;
  const taken = promo ? least(promo.balance, (left * 100n) / unit) : 0n;
  const money = (taken * unit) / 100n;
  const positives = lines.map(({ gross, discount }) => plus(gross - discount));
  const parts = shares(money, positives);
  lines.forEach((line, at) => {
    line.promo = parts[at] ?? 0n;
  });
  for (const key of new Set(lines.map(({ rate }) => `${rate.category} ${rate.ppm}`))) {
    const group = lines.filter(({ rate }) => `${rate.category} ${rate.ppm}` === key);
    const ppm = group[0]?.rate.ppm ?? 0n;
    const nets = group.map(netOf);
    const taxes = leveled(
      rounded(sum(nets), ppm, 1_000_000n),
      nets.map(net => net * ppm),
      1_000_000n,
    );
    group.forEach((line, at) => {
      line.tax = taxes[at] ?? 0n;
    });
  }
  return (money * 100n + unit - 1n) / unit;
}

export const netOf = ({ gross, discount, promo }: ModelLine): bigint => gross - discount - promo;

const seconds = (date: string) => Date.parse(`${date}T00:00:00Z`) / 1000;

/** The rate of a buyer of a German seller at a time. */
export function rateAt({ buyer, taxPercentage }: Terms, at: number): Rate {
  if (taxPercentage > 0) return { category: 'S', ppm: BigInt(taxPercentage) * 100n };
  if (buyer === 'business') return { category: 'AE', ppm: 0n };
  if (buyer === 'none') return { category: 'O', ppm: 0n };
  if (buyer === 'DE') return { category: 'S', ppm: 190_000n };
  if (buyer === 'LU') return { category: 'S', ppm: 170_000n };
  return { category: 'S', ppm: at < seconds('2025-07-01') ? 220_000n : 240_000n };
}
