import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate, type Reader } from '@recur/platform';
import { shownAddons, shownPlan } from '../../customers/catalog.js';
import { emptyMember } from '../../customers/merchants.js';
import { isoTime } from '../../invoices/views.js';
import type { RequestedEffect } from '../domain/changes.js';
import { type PendingUpdate, pendingUpdates } from '../pending-update.js';
import { addonParamsOf } from '../views.js';

/** The effect that a request asks for by its `effectImmediate`. */
export const requestedEffect = (code: number): RequestedEffect =>
  ([undefined, 'now', 'periodEnd'] as const)[code] ?? 'byRules';

/** A change that was submitted, as the API shows it. */
export function pendingUpdateView(update: PendingUpdate): contract.SubscriptionPendingUpdate {
  const { merchantId, pendingUpdateId, subscriptionId, userId, effectTime, metadata } = update;
  const { planId, quantity, currency, updatePlanId, updateQuantity, updateCurrency } = update;
  const { invoiceId, link, gatewayId, name, note, memberId, memberEmail, planSnapshot, updateSnapshot } = update;
  return {
    merchantId,
    pendingUpdateId,
    subscriptionId,
    userId,
    effectImmediate: contract.pendingUpdateEffect[update.effect],
    effectTime,
    metadata,
    planId,
    quantity,
    currency,
    updatePlanId,
    updateQuantity,
    updateCurrency,
    invoiceId,
    link,
    gatewayId,
    name,
    note,
    status: contract.pendingUpdateStatus[update.status],
    amount: Number(update.amount),
    updateAmount: Number(update.updateAmount),
    prorationAmount: Number(update.prorationAmount),
    paid: contract.noYes[update.paid ? 'yes' : 'no'],

    plan: shownPlan(planSnapshot.plan),
    addons: shownAddons(planSnapshot.addons),
    addonData: addonData(planSnapshot),
    updatePlan: shownPlan(updateSnapshot.plan),
    updateAddons: shownAddons(updateSnapshot.addons),
    updateAddonData: addonData(updateSnapshot),
    merchantMember: memberId === 0 ? null : { ...emptyMember, merchantId, id: memberId, email: memberEmail },
    gmtCreate: isoTime(update.createTime),
    gmtModify: isoTime(update.modifyTime),
  };
}

function addonData(planSnapshot: contract.PlanSnapshot): string {
  const params = addonParamsOf({ planSnapshot });
  return params.length === 0 ? '' : JSON.stringify(params);
}

type PendingUpdateEvent = Extract<contract.EventName, `subscription.pending_update.${string}`>;

/** A change of a subscription that was submitted. Locked after the subscription, before its invoice. */
export const pendingUpdateAggregate: AggregateOf<
  PendingUpdateEvent,
  PendingUpdate,
  PendingUpdate,
  contract.SubscriptionPendingUpdate
> = aggregate({
  name: 'pendingUpdate',
  title: 'PendingUpdate',
  events: contract.events,
  table: pendingUpdates,
  key: 'pendingUpdateId',
  ids: ({ subscriptionId, userId, updatePlanId: planId }) => ({ subscriptionId, userId, planId }),
  view: pendingUpdateView,
});

/** Changes of subscriptions that are not finished, by id; '' and others are left out. */
export async function unfinishedUpdates(
  reader: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, contract.SubscriptionPendingUpdate>> {
  const rows = await reader.among(
    pendingUpdates,
    'pendingUpdateId',
    ids.filter(id => id !== ''),
  );
  const unfinished = rows.filter(({ status }) => status === 'init' || status === 'pending');
  return new Map(unfinished.map(row => [row.pendingUpdateId, pendingUpdateView(row)]));
}
