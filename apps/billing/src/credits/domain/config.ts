import { ratio } from '@recur/kernel';

export type AccountType = 'main' | 'promo';

/** A merchant's settings for its credit accounts of one type and currency. */
export interface CreditConfig {
  merchantId: number;
  configId: number;
  type: AccountType;
  currency: string;
  name: string;
  description: string;
  logo: string;
  logoUrl: string;
  metaData: Record<string, unknown>;
  /** Value of a credit in hundredths of a major unit; always 100 for `main`, whose amounts are money. */
  exchangeRate: bigint;
  /** Cycle invoices take promo credit unasked. */
  recurring: boolean;
  /** Promo credit is never taken beside a discount code. */
  discountCodeExclusive: boolean;
  /** Previews apply promo credit unless the request says otherwise. */
  previewDefaultUsed: boolean;
  /** Invoices may be paid from the account. */
  payoutEnable: boolean;
  rechargeEnable: boolean;
  createTime: number;
  version: number;
}

/** The part of a config that accounts depend on. */
export type CreditTerms = Pick<
  CreditConfig,
  'exchangeRate' | 'payoutEnable' | 'rechargeEnable' | 'recurring' | 'discountCodeExclusive' | 'previewDefaultUsed'
>;

/** The terms of accounts without a config. */
export const defaultTerms: CreditTerms = {
  exchangeRate: 100n,
  payoutEnable: true,
  rechargeEnable: true,
  recurring: false,
  discountCodeExclusive: false,
  previewDefaultUsed: false,
};

export const creditTerms = (config: CreditTerms | undefined): CreditTerms => {
  const { exchangeRate, payoutEnable, rechargeEnable, recurring, discountCodeExclusive, previewDefaultUsed } =
    config ?? defaultTerms;
  return { exchangeRate, payoutEnable, rechargeEnable, recurring, discountCodeExclusive, previewDefaultUsed };
};

/**
 * Worth in minor units of an amount on an account: itself in `main`; credits × rate × 10^decimals ÷ 100, floored, in
 * `promo`. The amount is not negative.
 */
export function worthOf(type: AccountType, amount: bigint, exchangeRate: bigint, decimals: number): bigint {
  if (type === 'main') return amount;
  return ratio(amount, exchangeRate * 10n ** BigInt(decimals), 100n, 'floor');
}
