import { currencies, exponentOf } from '@recur/contracts';

// https://docs.stripe.com/currencies: the minor units of Stripe's API are not those of ISO 4217 everywhere
const zeroDecimal = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '));
const threeDecimal = new Set('BHD JOD KWD OMR TND'.split(' '));

const stripeExponent = (currency: string): number =>
  zeroDecimal.has(currency) ? 0 : threeDecimal.has(currency) ? 3 : 2;

/**
 * An amount in the unit of Stripe's API from one in the ISO 4217 minor unit; undefined where Stripe cannot express it:
 * a fraction of an ariary, or a three-decimal amount whose last digit is not 0.
 */
export function toStripe(amount: bigint, currency: string): number | undefined {
  const shift = stripeExponent(currency) - exponentOf(currency);
  const divisor = 10n ** BigInt(Math.max(-shift, 0));
  const scaled = amount * 10n ** BigInt(Math.max(shift, 0));
  if (scaled % divisor !== 0n) return undefined;
  const result = scaled / divisor;
  if (threeDecimal.has(currency) && result % 10n !== 0n) return undefined;
  return Number(result);
}

/** The reverse: Stripe's amount in the ISO 4217 minor unit, rounded down. */
export function fromStripe(amount: number, currency: string): bigint {
  const shift = stripeExponent(currency) - exponentOf(currency);
  return (BigInt(amount) * 10n ** BigInt(Math.max(-shift, 0))) / 10n ** BigInt(Math.max(shift, 0));
}

/** Money that an object of Stripe states, in ISO 4217 minor units; undefined where it states none in a known currency. */
export function moneyOf(amount: unknown, currency: unknown): { amount: bigint; currency: string } | undefined {
  if (!Number.isSafeInteger(amount) || typeof currency !== 'string') return undefined;
  const code = currency.toUpperCase();
  if (!currencies.has(code)) return undefined;
  const money = fromStripe(amount as number, code);
  return money > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : { amount: money, currency: code };
}
