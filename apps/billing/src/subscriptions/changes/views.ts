import * as contract from '@recur/contracts';
import { shownAddons, shownPlan } from '../../customers/plans.js';
import { addonParamsOf } from '../views.js';
import type { PendingUpdate } from './tables.js';

const emptyMember = contract.emptyOf(contract.MerchantMember);

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** A change that was submitted, as the API shows it. */
export function pendingUpdateView(update: PendingUpdate): contract.SubscriptionPendingUpdate {
  const { merchantId, pendingUpdateId, subscriptionId, userId, effectImmediate, effectTime, metadata } = update;
  const { planId, quantity, currency, updatePlanId, updateQuantity, updateCurrency } = update;
  const { invoiceId, link, gatewayId, name, note, memberId, memberEmail, planSnapshot, updateSnapshot } = update;
  return {
    merchantId,
    pendingUpdateId,
    subscriptionId,
    userId,
    effectImmediate,
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
    gmtCreate: iso(update.createTime),
    gmtModify: iso(update.modifyTime),
  };
}

function addonData(planSnapshot: contract.PlanSnapshot): string {
  const params = addonParamsOf({ planSnapshot });
  return params.length === 0 ? '' : JSON.stringify(params);
}
