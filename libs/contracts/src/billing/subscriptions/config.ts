import { z } from 'zod';
import { flag, integer, type Shape, seconds, text } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { MerchantVatRule } from '../taxes.js';

export const lateUsageRules = ['next', 'refuse'] as const;

const prorationText =
  'false: a change at once bills nothing; what is paid stays so, and another interval begins after it';

const subscriptionConfig = z.object({
  downgradeEffectImmediately: flag,
  downgradeNonImmediatelyEffectBeforePeriodEnd: seconds,
  fiatExchangeApiKey: text.describe('Always blank: exchange rates are set in the catalog'),
  gatewayVATRule: text.describe('JSON text of a list of rules'),
  incompleteExpireTime: seconds,
  invoiceEmail: flag,
  invoicePdfGenerate: flag,
  showZeroInvoice: flag,
  tryAutomaticPaymentBeforePeriodEnd: seconds,
  upgradeProration: flag.describe(prorationText),
  timeZone: text,
  usageGraceTime: seconds,
  lateUsage: text,
  firstInvoiceDays: integer,
  autoChargeRetryInterval: seconds,
  autoChargeMaxRetryCount: integer,
  oneTrialPerUser: flag,
  keepAfterDispute: flag,
  reverseChargePending: flag,
  noticeDays: integer.describe("Days of notice before a plan's new price takes effect for a running subscription"),
});
/** Settings of a merchant's subscriptions; durations are seconds. */
export interface SubscriptionConfig extends z.output<typeof subscriptionConfig> {}
export const SubscriptionConfig: Shape<SubscriptionConfig> = subscriptionConfig.meta({ id: 'SubscriptionConfig' });

export const getSubscriptionConfig = operation({
  service: 'billing',
  name: 'subscription.config',
  methods: ['GET'],
  path: '/merchant/subscription/config',
  summary: "Settings of the merchant's subscriptions",
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({}),
  output: z.object({ config: SubscriptionConfig }),
  errors: [],
});

const month = 31 * 86_400;

export const updateSubscriptionConfig = operation({
  service: 'billing',
  name: 'subscription.config_update',
  methods: ['POST'],
  path: '/merchant/subscription/config/update',
  summary: "Change those settings of the merchant's subscriptions that are sent",
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    downgradeEffectImmediately: input.flag.optional(),
    downgradeNonImmediatelyEffectBeforePeriodEnd: input
      .rule(z.int(), 'must be 0: a change that is not immediate takes effect at the end of the period', it => it === 0)
      .optional(),
    gatewayVATRule: input.list(MerchantVatRule, 500).optional(),
    incompleteExpireTime: z.int().min(0).max(month).optional(),
    invoiceEmail: input.flag.optional(),
    showZeroInvoice: input.flag.optional(),
    tryAutomaticPaymentBeforePeriodEnd: z.int().min(0).max(month).optional(),
    upgradeProration: input.flag.optional().describe(prorationText),
    timeZone: input
      .rule(input.line, 'must be an IANA time zone, such as Europe/Berlin', isTimeZone)
      .optional()
      .describe('Of new subscriptions'),
    usageGraceTime: z.int().min(0).max(month).optional(),
    lateUsage: z.enum(lateUsageRules).optional(),
    firstInvoiceDays: z.int().min(1).max(365).optional(),
    autoChargeRetryInterval: z.int().min(60).max(month).optional(),
    autoChargeMaxRetryCount: z.int().min(0).max(100).optional(),
    oneTrialPerUser: input.flag.optional(),
    keepAfterDispute: input.flag.optional(),
    reverseChargePending: input.flag.optional(),
    noticeDays: z.int().min(0).max(365).optional(),
  }),
  output: z.object({ config: SubscriptionConfig }),
  errors: [],
});

/** Time zones that were asked for: to make sure of one takes as long as a query. A name has spellings without end. */
const timeZones = new Set<string>();
const mostTimeZones = 1_000;

/** True for a time zone that can be computed with. */
export function isTimeZone(name: string): boolean {
  if (timeZones.has(name)) return true;
  try {
    if (name === '' || new Intl.DateTimeFormat('en', { timeZone: name }) === undefined) return false;
    if (timeZones.size < mostTimeZones) timeZones.add(name);
    return true;
  } catch {
    return false;
  }
}
