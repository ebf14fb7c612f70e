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
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import * as tax from '../tax/settings.js';
import { changeSettings, settingsOf } from './settings.js';
import type { Settings } from './tables.js';

type Input = In<typeof updateSubscriptionConfig>;

/** subscription/config: settings of the merchant's subscriptions, and those of their taxes. */
@Controller()
export class SubscriptionConfigs {
  constructor(private readonly db: Db) {}

  @Handle(getSubscriptionConfig)
  get(_: In<typeof getSubscriptionConfig>, caller: Caller) {
    return this.db.read(caller, async reader => ({ config: await configOf(reader, await settingsOf(reader)) }));
  }

  @Handle(updateSubscriptionConfig)
  update(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await configOf(tx, await settingsOf(tx));
      const settings = await changeSettings(tx, changesIn(input));
      const { gatewayVATRule, reverseChargePending = before.reverseChargePending } = input;
      const rules = gatewayVATRule ? textOf(gatewayVATRule) : before.gatewayVATRule;
      if (gatewayVATRule && rules !== before.gatewayVATRule) await tax.setGatewayRules(tx, gatewayVATRule);
      if (reverseChargePending !== before.reverseChargePending) {
        await tax.setReverseChargePending(tx, reverseChargePending);
      }
      const changed = { ...(await configOf(tx, settings)), gatewayVATRule: rules, reverseChargePending };
      if (!isDeepStrictEqual(changed, before)) tx.log('SubscriptionConfig', 'Update');
      return { config: changed };
    });
  }
}

/** The settings that an input gives. */
function changesIn(input: Input): Partial<Settings> {
  const { downgradeEffectImmediately, invoiceEmail, showZeroInvoice, upgradeProration, timeZone, lateUsage } = input;
  const { firstInvoiceDays, oneTrialPerUser, keepAfterDispute } = input;
  const given = {
    ...{ downgradeEffectImmediately, invoiceEmail, showZeroInvoice, upgradeProration, timeZone, lateUsage },
    ...{ firstInvoiceDays, oneTrialPerUser, keepAfterDispute },
    downgradeLeadSeconds: input.downgradeNonImmediatelyEffectBeforePeriodEnd,
    incompleteExpireSeconds: input.incompleteExpireTime,
    chargeLeadSeconds: input.tryAutomaticPaymentBeforePeriodEnd,
    usageGraceSeconds: input.usageGraceTime,
    retryIntervalSeconds: input.autoChargeRetryInterval,
    maxRetries: input.autoChargeMaxRetryCount,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The rules as JSON text, their fields in one order whatever the database keeps them in. */
function textOf(rules: readonly MerchantVatRule[]): string {
  if (rules.length === 0) return '';
  const ordered = rules.map(({ gatewayNames, validCountryCodes, taxPercentage, ignoreVatNumber }) => {
    return { gatewayNames, validCountryCodes, taxPercentage, ignoreVatNumber };
  });
  return JSON.stringify(ordered);
}

async function configOf(reader: Reader, settings: Settings): Promise<SubscriptionConfig> {
  const { gatewayRules, reverseChargePending } = await tax.settingsOf(reader);
  const { downgradeEffectImmediately, invoiceEmail, showZeroInvoice, upgradeProration, timeZone, lateUsage } = settings;
  const { firstInvoiceDays, oneTrialPerUser, keepAfterDispute } = settings;
  return {
    ...emptyOf(SubscriptionConfig),
    ...{ downgradeEffectImmediately, invoiceEmail, showZeroInvoice, upgradeProration, timeZone, lateUsage },
    ...{ firstInvoiceDays, oneTrialPerUser, keepAfterDispute, reverseChargePending, invoicePdfGenerate: true },
    gatewayVATRule: textOf(gatewayRules),
    downgradeNonImmediatelyEffectBeforePeriodEnd: settings.downgradeLeadSeconds,
    incompleteExpireTime: settings.incompleteExpireSeconds,
    tryAutomaticPaymentBeforePeriodEnd: settings.chargeLeadSeconds,
    usageGraceTime: settings.usageGraceSeconds,
    autoChargeRetryInterval: settings.retryIntervalSeconds,
    autoChargeMaxRetryCount: settings.maxRetries,
  };
}
