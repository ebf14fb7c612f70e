import { isDeepStrictEqual } from 'node:util';
import type { Reader, Tx } from '@recur/platform';
import type { Subscription } from './domain/subscription.js';
import { type Settings, subscriptionSettings } from './tables.js';

const HOUR = 3600;

const defaults = (merchantId: number): Settings => ({
  merchantId,
  downgradeEffectImmediately: false,
  downgradeLeadSeconds: 0,
  incompleteExpireSeconds: 24 * HOUR,
  chargeLeadSeconds: 2 * HOUR,
  upgradeProration: true,
  timeZone: 'UTC',
  usageGraceSeconds: HOUR,
  lateUsage: 'next',
  firstInvoiceDays: 3,
  retryIntervalSeconds: 12 * HOUR,
  maxRetries: 0,
  oneTrialPerUser: true,
  noticeDays: 30,
});

/** The subscription settings of the merchant, or the defaults. */
export const settingsOf = async (reader: Reader): Promise<Settings> =>
  (await reader.find(subscriptionSettings, {})) ?? defaults(reader.merchantId);

/** Changes settings under their row lock; who calls it writes the log entry. */
export async function changeSettings(tx: Tx, change: Partial<Omit<Settings, 'merchantId'>>): Promise<Settings> {
  // two commands may both find no row yet
  tx.onConflict('subscription_settings_pkey', 'again');
  const before = (await tx.lockIfAny(subscriptionSettings, {})) ?? defaults(tx.merchantId);
  const settings = { ...before, ...change };
  if (!isDeepStrictEqual(settings, before)) tx.save(subscriptionSettings, settings);
  return settings;
}

/** Times of automatic charges: those of the plan, else those of the merchant. */
export function chargeTermsOf({ planSnapshot }: Pick<Subscription, 'planSnapshot'>, settings: Settings) {
  const own = planSnapshot.plan?.autoChargeConfig;
  return {
    leadSeconds: own?.autoChargeLeadTime || settings.chargeLeadSeconds,
    retryIntervalSeconds: own?.autoChargeRetryInterval || settings.retryIntervalSeconds,
    maxRetries: own?.autoChargeMaxRetryCount || settings.maxRetries,
    incompleteExpireSeconds: own?.incompleteExpireTime || settings.incompleteExpireSeconds,
  };
}
