/** An interval between periods. */
export interface Interval {
  unit: 'day' | 'week' | 'month' | 'year';
  count: number;
}

/** The choice of a subscription: a plan by its place in `plans`, and quantities of the two add-ons (0: without). */
export interface Wish {
  plan: number;
  quantity: number;
  addons: readonly [number, number];
}

export type Beginning =
  | { is: 'full' }
  | { is: 'stub'; day: number }
  | { is: 'trial'; seconds: number; price: number }
  | { is: 'steps'; prices: readonly [number, number] }
  | { is: 'free'; seconds: number };

export type Code = {
  recurring: boolean;
  cycleLimit: number;
  terms: { kind: 'percentage'; percentage: number } | { kind: 'fixed'; amount: bigint };
};

/** When a change is asked to take effect. */
export type RequestedEffect = 'byRules' | 'now' | 'periodEnd';

/** Terms by which a subscription is sold. Money is minor units, times are unix seconds. */
export interface Terms {
  zone: string;
  start: number;
  /** Decimals of the currency. */
  digits: number;
  /** The first two plans have the first interval, the third has the second. */
  intervals: readonly [Interval, Interval];
  plans: readonly [number, number, number];
  addons: readonly [number, number];
  begin: Beginning;
  wish: Wish;
  buyer: 'EE' | 'DE' | 'LU' | 'business' | 'none';
  /** True where main credit pays for invoices. */
  creditPays: boolean;
  /** False where a change at once bills nothing: what is paid stays so, and the next period is sold as it was changed. */
  prorates: boolean;
  /** Percentage that an API key stated, 0 for none. */
  taxPercentage: number;
  code: Code | undefined;
  /** Promo credits, and what one is worth in hundredths. */
  promo: { balance: bigint; rate: bigint } | undefined;
  /** Prices of usage of the plans, and units that are free; undefined where none is sold. */
  meter: { prices: readonly [number, number, number]; freeUnits: number } | undefined;
}
