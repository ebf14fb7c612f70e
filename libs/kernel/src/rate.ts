import { ratio } from './money.js';

/** How many fractional digits a rate may have. */
export const RATE_DIGITS = 12;
const SCALE = 10n ** BigInt(RATE_DIGITS);

/**
 * A rate between two currencies: how much of the one a major unit of the other is, as a whole number of 10^-12.
 * 149.5 is 149_500_000_000_000n.
 */
export type Rate = bigint;

/**
 * The rate that a decimal says: a text (`0.0021`) or a JSON number, whose shortest text is meant.
 * Throws RangeError where it is none, is negative or has more than 12 fractional digits: a rate is never rounded here.
 */
export function rateOf(decimal: string | number): Rate {
  const match = /^(\d{1,30})(?:\.(\d{1,30}))?(?:e([+-]\d{1,2}))?$/.exec(String(decimal));
  if (!match) throw new RangeError(`${decimal} is no rate`);
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const missing = RATE_DIGITS - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (missing >= 0) return digits * 10n ** BigInt(missing);
  const excess = 10n ** BigInt(-missing);
  if (digits % excess !== 0n) throw new RangeError(`${decimal} has more than ${RATE_DIGITS} fractional digits`);
  return digits / excess;
}

/** A rate as a decimal, exactly: `149.5`. */
export function rateText(rate: Rate): string {
  const digits = rate.toString().padStart(RATE_DIGITS + 1, '0');
  const fraction = digits.slice(-RATE_DIGITS).replace(/0+$/, '');
  return digits.slice(0, -RATE_DIGITS) + (fraction && `.${fraction}`);
}

/** A rate as a JSON number. What it shows is what `rateOf` reads from it. */
export const rateNumber = (rate: Rate): number => Number(rateText(rate));

/**
 * The rate between two currencies of which one major unit of a third is `from` and `to`: to ÷ from, rounded once to 12
 * fractional digits, halves away from zero. A rate that is larger than 1000 or so has more digits than a JSON number
 * carries; it is then the one that the number shows, so that what is shown is what is used.
 * Throws RangeError where `from` is not positive.
 */
export const crossRate = (from: Rate, to: Rate): Rate =>
  rateOf(rateNumber(ratio(to, SCALE, from, 'half-away-from-zero')));

/**
 * amount × rate, from the minor unit of one currency into that of the other, exact until it is rounded once: halves away
 * from zero. The exponents are those of ISO 4217: with 2 and 0, 100 cents at 149.5 are 150 yen, and −100 are −150.
 */
export function exchange(amount: bigint, rate: Rate, fromExponent: number, toExponent: number): bigint {
  const numerator = rate * 10n ** BigInt(toExponent);
  return ratio(amount, numerator, SCALE * 10n ** BigInt(fromExponent), 'half-away-from-zero');
}
