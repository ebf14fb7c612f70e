import { invalid, ratio } from '@recur/kernel';
import { lesser } from './shares.js';

/** A promo credit account as far as one invoice may spend from it. */
export interface PromoTerms {
  /** Credits on the account. */
  balance: bigint;
  /** Most credits to spend; absent for no limit. */
  cap?: bigint;
  /** Value of a credit in hundredths of a major unit: at 100 a credit is one major unit. */
  exchangeRate: bigint;
  /** Decimals of the invoice's currency. */
  decimals: number;
}

/** Promo credit spent on an invoice: minor units of money, and the credits that they cost. */
export interface PromoSpent {
  amount: bigint;
  credits: bigint;
}

/**
 * Promo credit for a base of `base` minor units, which is not negative:
 * amount = floor(min(balance, cap, floor(base × 100 ÷ unit)) × unit ÷ 100) and credits = ceil(amount × 100 ÷ unit),
 * with unit = exchangeRate × 10^decimals. Throws Rejected `invalid_parameters` for an exchange rate below 1.
 */
export function promoOn(base: bigint, { balance, cap, exchangeRate, decimals }: PromoTerms): PromoSpent {
  if (base < 0n) throw new RangeError(`promo credit on ${base}`);
  if (exchangeRate < 1n) throw invalid('/exchangeRate', `is ${exchangeRate}: the smallest exchange rate is 1`);
  const unit = exchangeRate * 10n ** BigInt(decimals);
  const available = cap === undefined ? balance : lesser(balance, cap);
  const usable = lesser(available, ratio(base, 100n, unit, 'floor'));
  if (usable <= 0n) return { amount: 0n, credits: 0n };
  const amount = ratio(usable, unit, 100n, 'floor');
  return { amount, credits: -ratio(-amount, 100n, unit, 'floor') };
}

/**
 * Credits to return once `refunded` of `total` minor units have been refunded, cumulatively:
 * floor(credits × refunded ÷ total); all of them at refunded = total.
 */
export const promoReturned = (credits: bigint, refunded: bigint, total: bigint): bigint =>
  total === 0n ? 0n : ratio(credits, refunded, total, 'floor');
