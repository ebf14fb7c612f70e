import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import { type OnetimeAddon, onetimeAddons } from './tables.js';

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
