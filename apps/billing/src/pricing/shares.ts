import { allocate, apportion, sum } from '@recur/kernel';

/** Shares of a reduction over the positive amounts, in proportion to them; at most the amount itself each. */
export const reduceOver = (total: bigint, amounts: readonly bigint[]): bigint[] =>
  allocate(total, amounts.map(positive));

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

export const positive = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

export const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b);

export const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b);

export const subtract = (amounts: readonly bigint[], less: readonly bigint[]): bigint[] =>
  amounts.map((amount, i) => amount - at(less, i));

export const at = (amounts: readonly bigint[], i: number): bigint => amounts[i] ?? 0n;
