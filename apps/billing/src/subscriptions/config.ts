import { Controller } from '@nestjs/common';
import {
  emptyOf,
  getSubscriptionConfig,
  type In,
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
      const before = await settingsOf(tx);
      const settings = await changeSettings(tx, changesIn(input));
      const { gatewayVATRule, reverseChargePending } = input;
      const config = await configOf(tx, settings);
      if (gatewayVATRule !== undefined) await tax.setGatewayRules(tx, gatewayVATRule);
      if (reverseChargePending !== undefined) await tax.setReverseChargePending(tx, reverseChargePending);
      const changed = {
        ...config,
        ...(gatewayVATRule && { gatewayVATRule: JSON.stringify(gatewayVATRule) }),
        ...(reverseChargePending !== undefined && { reverseChargePending }),
      };
      const isNew = JSON.stringify(changed) !== JSON.stringify(await configOf(tx, before));
      if (isNew) tx.log('SubscriptionConfig', 'Update');
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

async function configOf(reader: Reader, settings: Settings): Promise<SubscriptionConfig> {
  const { gatewayRules, reverseChargePending } = await tax.settingsOf(reader);
  const { downgradeEffectImmediately, invoiceEmail, showZeroInvoice, upgradeProration, timeZone, lateUsage } = settings;
  const { firstInvoiceDays, oneTrialPerUser, keepAfterDispute } = settings;
  return {
    ...emptyOf(SubscriptionConfig),
    ...{ downgradeEffectImmediately, invoiceEmail, showZeroInvoice, upgradeProration, timeZone, lateUsage },
    ...{ firstInvoiceDays, oneTrialPerUser, keepAfterDispute, reverseChargePending, invoicePdfGenerate: true },
    gatewayVATRule: gatewayRules.length === 0 ? '' : JSON.stringify(gatewayRules),
    downgradeNonImmediatelyEffectBeforePeriodEnd: settings.downgradeLeadSeconds,
    incompleteExpireTime: settings.incompleteExpireSeconds,
    tryAutomaticPaymentBeforePeriodEnd: settings.chargeLeadSeconds,
    usageGraceTime: settings.usageGraceSeconds,
    autoChargeRetryInterval: settings.retryIntervalSeconds,
    autoChargeMaxRetryCount: settings.maxRetries,
  };
}
