import { invalid } from './rejected.js';

/** Percentages are integers in basis points: SCALE is 100 %. */
export const SCALE = 10_000n;

/**
 * Rounding modes: to the nearest integer, halves away from zero (2.5 → 3, −2.5 → −3); `down` towards zero
 * (−2.5 → −2); `floor` towards −∞ (−2.5 → −3).
 */
export type Rounding = 'half-away-from-zero' | 'down' | 'floor';

/**
 * amount × numerator ÷ denominator, computed exactly and rounded once. Amounts are in the currency's minor unit.
 * Throws RangeError if the denominator is not positive.
 */
export function ratio(amount: bigint, numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  if (denominator <= 0n) throw new RangeError(`a ratio to ${denominator}`);
  const exact = amount * numerator;
  switch (rounding) {
    case 'half-away-from-zero': {
      const half = exact < 0n ? -denominator : denominator;
      return (2n * exact + half) / (2n * denominator);
    }
    case 'down':
      return exact / denominator;
    case 'floor':
      return floor(exact, denominator);
  }
}

/**
 * Divides `total` in proportion to `weights` without loss: the shares add up to the total, and each is less than
 * one minor unit away from total × weight ÷ Σ weights (`apportion` distributes the last units).
 * A weight of zero has a share of zero. Throws RangeError if a weight is negative, or if all are zero
 * (or there is none) and the total is not.
 */
export function allocate(total: bigint, weights: readonly bigint[]): bigint[] {
  if (weights.some(weight => weight < 0n)) throw new RangeError('a negative weight');
  if (total === 0n) return weights.map(() => 0n);
  const whole = sum(weights);
  if (whole === 0n) throw new RangeError(`nothing to allocate ${total} to`);
  return apportion(
    total,
    weights.map(weight => total * weight),
    whole,
  );
}

/**
 * Rounds the exact shares numerators[i] ÷ denominator to whole units that add up to `total`, which is their exact sum
 * rounded either way. Largest-remainder method (Hamilton, 1792): every share is floored towards −∞, and the units
 * then missing go one each to the shares with the largest fractions; ties go to the earlier share.
 * A share that is already whole is unchanged. Throws RangeError if the denominator is not positive, or if the
 * total is one unit or more away from the exact sum.
 */
export function apportion(total: bigint, numerators: readonly bigint[], denominator: bigint): bigint[] {
  if (denominator <= 0n) throw new RangeError(`shares of ${denominator}`);
  const excess = total * denominator - sum(numerators);
  if (excess <= -denominator || excess >= denominator) throw new RangeError(`${total} is not the sum of the shares`);
  const shares = numerators.map(numerator => floor(numerator, denominator));
  if (excess === 0n && sum(shares) === total) return shares;
  const fractions = numerators.map((numerator, i) => numerator - (shares[i] ?? 0n) * denominator);
  const missing = Number(total - sum(shares));
  const byFraction = [...fractions.keys()].sort((a, b) => compare(fractions[b] ?? 0n, fractions[a] ?? 0n) || a - b);
  for (const i of byFraction.slice(0, missing)) shares[i] = (shares[i] ?? 0n) + 1n;
  return shares;
}

export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** The largest magnitude that a JSON number carries exactly. */
export const MAX_AMOUNT = BigInt(Number.MAX_SAFE_INTEGER);

export const isSafe = (amount: bigint): boolean => amount >= -MAX_AMOUNT && amount <= MAX_AMOUNT;

/**
 * An amount as a number for the wire. Throws Rejected `invalid_parameters` if it is not within ±(2^53−1); `path` is
 * a JSON pointer to the input it came from.
 */
export function safe(amount: bigint, path = ''): number {
  if (!isSafe(amount)) throw invalid(path, `An amount of ${amount} is beyond ±${MAX_AMOUNT}`);
  return Number(amount);
}

/** A whole number of 10^-decimals as a decimal text: (12345, 2) is 123.45. */
export function decimalOf(units: bigint, decimals: number): `${number}` {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? '' : `.${digits.slice(-decimals)}`;
  return `${units < 0n ? '-' : ''}${whole}${fraction}` as `${number}`;
}

function floor(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  return quotient * denominator > numerator ? quotient - 1n : quotient;
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

/** Shares of a reduction over the positive amounts, in proportion to them; at most the amount itself each. */
export const reduceOver = (total: bigint, amounts: readonly bigint[]): bigint[] =>
  allocate(total, amounts.map(clampToZero));

/**
 * Shares of `total` in proportion to what is `left` of each part; the parts may have either sign. No share exceeds what
 * is left of its part, and at `total` = Σ left each part is used up exactly. Largest remainder, as `apportion`.
 * Throws RangeError if `total` is not between 0 and Σ left.
 */
export function shareOfLeft(total: bigint, left: readonly bigint[]): bigint[] {
  if (total === 0n) return left.map(() => 0n);
  const whole = sum(left);
  const sign = whole < 0n ? -1n : 1n;
  if (total * sign < 0n || total * sign > whole * sign) throw new RangeError(`${total} of ${whole}`);
  return apportion(
    total,
    left.map(part => part * total * sign),
    whole * sign,
  );
}

/** The amount, or 0 where it is negative. */
export const clampToZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

/** The lesser of two amounts. */
export const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** The greater of two amounts. */
export const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Amounts less others, one by one; a missing one is 0. */
export const subtract = (amounts: readonly bigint[], less: readonly bigint[]): bigint[] =>
  amounts.map((amount, i) => amount - amountAt(less, i));

/** The amount at an index; 0 for none. */
export const amountAt = (amounts: readonly bigint[], i: number): bigint => amounts[i] ?? 0n;
