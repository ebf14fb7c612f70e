import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import {
  emptyOf,
  getSubscriptionConfig,
  type In,
  type MerchantVatRule,
  SubscriptionConfig,
  updateSubscriptionConfig,
} from '@recur/contracts';
import { type Caller, Db, Handle, type Reader, settings } from '@recur/platform';
import * as documents from '../invoices/settings.js';
import * as tax from '../tax/settings.js';
import type { Subscription } from './domain/subscription.js';
import { type SubscriptionSettings, subscriptionSettings } from './tables.js';

type Input = In<typeof updateSubscriptionConfig>;

/** subscription/config: settings of the merchant's subscriptions, and those of their taxes. */
@Controller()
export class SubscriptionConfigs {
  constructor(private readonly db: Db) {}

  @Handle(getSubscriptionConfig)
  get(_: In<typeof getSubscriptionConfig>, caller: Caller) {
    return this.db.read(caller, async reader => ({
      config: await configOf(reader, await subscriptionSettingsOf(reader)),
    }));
  }

  @Handle(updateSubscriptionConfig)
  update(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await configOf(tx, await subscriptionSettingsOf(tx));
      const changedSettings = await storedSettings.change(tx, changesIn(input));
      const ofDocuments = await documents.changeInvoiceSettings(tx, documentChangesIn(input));
      const { gatewayVATRule, reverseChargePending = before.reverseChargePending } = input;
      const rules = gatewayVATRule ? rulesText(gatewayVATRule) : before.gatewayVATRule;
      if (gatewayVATRule && rules !== before.gatewayVATRule) await tax.setGatewayRules(tx, gatewayVATRule);
      if (reverseChargePending !== before.reverseChargePending) {
        await tax.setReverseChargePending(tx, reverseChargePending);
      }
      const changed = {
        ...(await configOf(tx, changedSettings)),
        ...documentSettings(ofDocuments),
        gatewayVATRule: rules,
        reverseChargePending,
      };
      if (!isDeepStrictEqual(changed, before)) tx.log('SubscriptionConfig', 'Update');
      return { config: changed };
    });
  }
}

/** The fields that are given. */
type Stated<T> = { [F in keyof T]?: Exclude<T[F], undefined> };

/** The settings that an input gives. */
function changesIn(input: Input): Partial<SubscriptionSettings> {
  const { downgradeEffectImmediately, upgradeProration, timeZone, lateUsage } = input;
  const { firstInvoiceDays, oneTrialPerUser, noticeDays } = input;
  return stated({
    downgradeEffectImmediately,
    upgradeProration,
    timeZone,
    lateUsage,
    firstInvoiceDays,
    oneTrialPerUser,
    noticeDays,
    downgradeLeadSeconds: input.downgradeNonImmediatelyEffectBeforePeriodEnd,
    incompleteExpireSeconds: input.incompleteExpireTime,
    chargeLeadSeconds: input.tryAutomaticPaymentBeforePeriodEnd,
    usageGraceSeconds: input.usageGraceTime,
    retryIntervalSeconds: input.autoChargeRetryInterval,
    maxRetries: input.autoChargeMaxRetryCount,
  });
}

/** The settings of documents that an input gives. */
const documentChangesIn = ({ showZeroInvoice, invoiceEmail, keepAfterDispute }: Input) =>
  stated({ showZeroInvoice, invoiceEmail, keepAfterDispute });

const stated = <T extends object>(given: T): Stated<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Stated<T>;

const documentSettings = ({ showZeroInvoice, invoiceEmail, keepAfterDispute }: documents.InvoiceSettings) => ({
  showZeroInvoice,
  invoiceEmail,
  keepAfterDispute,
});

/** The rules as JSON text, their fields in one order whatever the database keeps them in. */
function rulesText(rules: readonly MerchantVatRule[]): string {
  if (rules.length === 0) return '';
  const ordered = rules.map(({ gatewayNames, validCountryCodes, taxPercentage, ignoreVatNumber }) => {
    return { gatewayNames, validCountryCodes, taxPercentage, ignoreVatNumber };
  });
  return JSON.stringify(ordered);
}

async function configOf(reader: Reader, settings: SubscriptionSettings): Promise<SubscriptionConfig> {
  const { gatewayRules, reverseChargePending } = await tax.taxSettingsOf(reader);
  const { downgradeEffectImmediately, upgradeProration, timeZone, lateUsage } = settings;
  const { firstInvoiceDays, oneTrialPerUser, noticeDays } = settings;
  return {
    ...emptyOf(SubscriptionConfig),
    ...documentSettings(await documents.invoiceSettingsOf(reader)),
    downgradeEffectImmediately,
    upgradeProration,
    timeZone,
    lateUsage,
    firstInvoiceDays,
    oneTrialPerUser,
    noticeDays,
    reverseChargePending,
    invoicePdfGenerate: true,
    gatewayVATRule: rulesText(gatewayRules),
    downgradeNonImmediatelyEffectBeforePeriodEnd: settings.downgradeLeadSeconds,
    incompleteExpireTime: settings.incompleteExpireSeconds,
    tryAutomaticPaymentBeforePeriodEnd: settings.chargeLeadSeconds,
    usageGraceTime: settings.usageGraceSeconds,
    autoChargeRetryInterval: settings.retryIntervalSeconds,
    autoChargeMaxRetryCount: settings.maxRetries,
  };
}

const HOUR = 3600;

const storedSettings = settings(subscriptionSettings, {
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
export const subscriptionSettingsOf = storedSettings.of;

/** Times of automatic charges: those of the plan, else those of the merchant. */
export function chargeTermsOf({ planSnapshot }: Pick<Subscription, 'planSnapshot'>, settings: SubscriptionSettings) {
  const own = planSnapshot.plan?.autoChargeConfig;
  return {
    leadSeconds: own?.autoChargeLeadTime || settings.chargeLeadSeconds,
    retryIntervalSeconds: own?.autoChargeRetryInterval || settings.retryIntervalSeconds,
    maxRetries: own?.autoChargeMaxRetryCount || settings.maxRetries,
    incompleteExpireSeconds: own?.incompleteExpireTime || settings.incompleteExpireSeconds,
  };
}
