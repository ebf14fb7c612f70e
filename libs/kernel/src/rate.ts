import { ratio } from './money.js';

/** The number of fractional digits of a rate. */
export const RATE_DIGITS = 12;
const SCALE = 10n ** BigInt(RATE_DIGITS);

/**
 * An exchange rate: units of one currency per major unit of another, as an integer multiple of 10^-12.
 * 149.5 is 149_500_000_000_000n.
 */
export type Rate = bigint;

/**
 * Parses a rate from a decimal: a text (`0.0021`) or a JSON number, taken in its shortest decimal form.
 * Throws RangeError if it is invalid, negative or has more than 12 fractional digits: rates are never rounded here.
 */
export function rateOf(decimal: string | number): Rate {
  const match = /^(\d{1,30})(?:\.(\d{1,30}))?(?:e([+-]\d{1,2}))?$/.exec(String(decimal));
  if (!match) throw new RangeError(`${decimal} is not a rate`);
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const missing = RATE_DIGITS - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (missing >= 0) return digits * 10n ** BigInt(missing);
  const excess = 10n ** BigInt(-missing);
  if (digits % excess !== 0n) throw new RangeError(`${decimal} has more than ${RATE_DIGITS} fractional digits`);
  return digits / excess;
}

/** A rate as an exact decimal: `149.5`. */
export function rateText(rate: Rate): string {
  const digits = rate.toString().padStart(RATE_DIGITS + 1, '0');
  const fraction = digits.slice(-RATE_DIGITS).replace(/0+$/, '');
  return digits.slice(0, -RATE_DIGITS) + (fraction && `.${fraction}`);
}

/** A rate as a JSON number, which `rateOf` reads back unchanged. */
export const rateNumber = (rate: Rate): number => Number(rateText(rate));

/**
 * Cross rate of two currencies quoted against a common base: to ÷ from, rounded once to 12
 * fractional digits, halves away from zero. A rate above about 1000 has more digits than a JSON number
 * can carry; it is then cut to what that number shows, so that the rate shown is the rate used.
 * Throws RangeError if `from` is not positive.
 */
export const crossRate = (from: Rate, to: Rate): Rate =>
  rateOf(rateNumber(ratio(to, SCALE, from, 'half-away-from-zero')));

/**
 * Converts an amount between the minor units of two currencies: amount × rate, rounded once, halves away
 * from zero. Exponents are ISO 4217's: with 2 and 0, 100 cents at 149.5 are 150 yen, and −100 are −150.
 */
export function exchange(amount: bigint, rate: Rate, fromExponent: number, toExponent: number): bigint {
  const numerator = rate * 10n ** BigInt(toExponent);
  return ratio(amount, numerator, SCALE * 10n ** BigInt(fromExponent), 'half-away-from-zero');
}
