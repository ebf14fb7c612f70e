import type { Plan } from '@recur/contracts';
import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate, document, int, integer, money, table, text } from '@recur/platform';

/** A one-time add-on that was sold on a subscription. */
export interface OnetimeAddon {
  merchantId: number;
  id: number;
  /** `addon_…` */
  addonKey: string;
  version: number;
  subscriptionId: string;
  userId: number;
  /** Id of its plan. */
  addonId: number;
  plan: Plan;
  status: 'created' | 'paid' | 'cancelled' | 'expired';
  quantity: number;
  unitAmount: bigint;
  amount: bigint;
  currency: string;
  name: string;
  description: string;
  invoiceId: string;
  paymentId: string;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
}

export const onetimeAddons = table<OnetimeAddon>('onetime_addons', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    addonKey: text(),
    version: int(),
    subscriptionId: text(),
    userId: integer(),
    addonId: integer(),
    plan: document<Plan>(),
    status: text<OnetimeAddon['status']>(),
    quantity: int(),
    unitAmount: money(),
    amount: money(),
    currency: text(),
    name: text(),
    description: text(),
    invoiceId: text(),
    paymentId: text(),
    metadata: document<Record<string, unknown>>(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: { onetime_addons_status: `status in ('created', 'paid', 'cancelled', 'expired')` },
  indices: {
    onetime_addons_invoice: { on: ['merchantId', 'invoiceId'], unique: true },
    onetime_addons_user: { on: ['merchantId', 'userId', 'createTime', 'id'] },
  },
});

type OnetimeAddonEvent = Extract<contract.EventName, `subscription.onetime_addon.${string}`>;

/** A one-time add-on that was sold on a subscription. Locked after its subscription and its invoice. */
export const onetimeAddonAggregate: AggregateOf<
  OnetimeAddonEvent,
  OnetimeAddon,
  OnetimeAddon,
  contract.OnetimePaymentItem
> = aggregate({
  name: 'onetimeAddon',
  title: 'OnetimeAddon',
  events: contract.events,
  table: onetimeAddons,
  key: 'id',
  ids: ({ subscriptionId, userId, addonId: planId, invoiceId }) => ({ subscriptionId, userId, planId, invoiceId }),
  view: onetimeAddonView,
});

/** A one-time add-on as the API shows it. */
export function onetimeAddonView(addon: OnetimeAddon): contract.OnetimePaymentItem {
  const { merchantId, id, addonKey: uniqueId, subscriptionId, userId, quantity, currency, name, description } = addon;
  const { invoiceId, paymentId, createTime, unitAmount, amount, status } = addon;
  return {
    merchantId,
    id,
    uniqueId,
    subscriptionId,
    userId,
    quantity,
    currency,
    name,
    description,
    invoiceId,
    paymentId,
    createTime,
    unitAmount: Number(unitAmount),
    amount: Number(amount),
    bizType: contract.bizType.onetime,
    status: contract.onetimeAddonStatus[status],
  };
}
