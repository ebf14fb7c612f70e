import { randomUUID } from 'node:crypto';
import { orThrow } from '@recur/client';
import {
  discountBillingType,
  discountType,
  exponentOf,
  metricChargeType,
  metricType,
  planType,
} from '@recur/contracts';
import type { Terms } from '../../model/terms.js';
import type { Seller } from '../examples/seller.js';

/** Ids of what is sold by some terms. */
export interface Sold {
  currency: string;
  plans: readonly number[];
  addons: readonly number[];
  metricCode: string;
  discountCode: string;
}

/** What one promo credit is worth in each currency, in hundredths: a setting of the merchant. */
export const promoRates: Readonly<Record<string, bigint>> = { EUR: 100n, USD: 1000n, JPY: 30n, KWD: 1n };

/** Lets every cycle invoice take promo credit, and every invoice main credit. */
export async function configure({ api }: Seller, upgradeProration: boolean): Promise<void> {
  orThrow(await api.post('/merchant/subscription/config/update', { upgradeProration }));
  orThrow(await api.post('/merchant/update', { countryCode: 'DE' }));
  for (const [currency, rate] of Object.entries(promoRates)) {
    const config = { currency, exchangeRate: Number(rate), recurring: 1 as const, type: 2 as const };
    orThrow(await api.post('/merchant/credit/new_config', config));
  }
}

/** Sets up wires in a currency. Returns their gateway. */
export async function wires({ api }: Seller, currency: string): Promise<number> {
  const setup = { currency, minimumAmount: 0 };
  return orThrow(await api.post('/merchant/gateway/wire_transfer_setup', setup)).gateway.gatewayId;
}

/** Makes the plans, add-ons, metric and code of some terms. */
export async function sell(seller: Seller, terms: Omit<Terms, 'start'>, currency: string): Promise<Sold> {
  const { api } = seller;
  const addons: number[] = [];
  for (const amount of terms.addons) {
    addons.push(await seller.plan({ amount, currency, type: planType.recurringAddon }));
  }
  const metric = terms.meter && (await seller.metric({ type: metricType.chargeMetered }));
  const plans: number[] = [];
  for (const [at, amount] of terms.plans.entries()) {
    const { unit, count } = at === 2 ? terms.intervals[1] : terms.intervals[0];
    plans.push(
      await seller.plan({
        planName: `Plan ${at}`,
        amount,
        currency,
        intervalUnit: unit,
        intervalCount: count,
        addonIds: addons,
        ...trialOf(terms),
        ...(metric && { metricMeteredCharge: [chargeOf(terms, at, metric.id)] }),
      }),
    );
  }
  const discountCode = terms.code ? randomUUID() : '';
  if (terms.code) {
    const { recurring, cycleLimit, terms: off } = terms.code;
    const { discount } = orThrow(
      await api.post('/merchant/discount/new', {
        code: discountCode,
        billingType: recurring ? discountBillingType.recurring : discountBillingType.onetime,
        cycleLimit: recurring ? cycleLimit : 0,
        startTime: 0,
        endTime: 0,
        ...(off.kind === 'fixed'
          ? { discountType: discountType.fixedAmount, discountAmount: Number(off.amount), currency }
          : { discountType: discountType.percentage, discountPercentage: off.percentage }),
      }),
    );
    orThrow(await api.post('/merchant/discount/activate', { id: discount.id }));
  }
  return { currency, plans, addons, metricCode: metric?.code ?? '', discountCode };
}

function trialOf({ begin }: Omit<Terms, 'start'>) {
  if (begin.is === 'trial') return { trialDurationTime: begin.seconds, trialAmount: begin.price };
  if (begin.is !== 'steps') return {};
  const [first, second] = begin.prices;
  return {
    multiTrials: [
      { trialDuration: 7 * 86_400, trialPrice: first },
      { intervalUnit: 'month' as const, intervalCount: 1, trialPrice: second },
    ],
  };
}

/** The price of usage: a unit price beyond some free units; that of the third plan has tiers. */
function chargeOf({ meter }: Omit<Terms, 'start'>, plan: number, metricId: number) {
  const { prices = [], freeUnits = 0 } = meter ?? {};
  const unit = prices[plan] ?? 0;
  if (plan !== 2) {
    return { metricId, chargeType: metricChargeType.standard, standardAmount: unit, standardStartValue: freeUnits };
  }
  const graduatedAmounts = [
    { startValue: 0, endValue: 50, perAmount: unit, flatAmount: 0 },
    { startValue: 50, endValue: -1, perAmount: 1, flatAmount: 7 },
  ];
  return { metricId, chargeType: metricChargeType.graduated, graduatedAmounts };
}

export const digitsOf = (currency: string): number => exponentOf(currency);
