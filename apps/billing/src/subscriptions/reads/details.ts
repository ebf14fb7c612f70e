import * as contract from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { shownAddons, shownPlan } from '../../customers/plans.js';
import { usersById } from '../../customers/users.js';
import * as discounts from '../../discounts/redemption.js';
import { gatewaysById } from '../../gateways/lookup.js';
import { gatewayView } from '../../gateways/views.js';
import { invoicesById } from '../../invoicing/lists/details.js';
import type { Subscription } from '../domain/subscription.js';
import { addonParamsOf, subscriptionView } from '../views.js';
import { unfinishedUpdates } from './unfinished.js';

const DAY = 86_400;

/** Subscriptions with what belongs to them, each related row read once for a whole page. */
export async function detailsOf(reader: Reader, rows: readonly Subscription[]): Promise<contract.SubscriptionDetail[]> {
  const [gateways, users, invoices, updates, codes] = await Promise.all([
    gatewaysById(reader),
    usersById(
      reader,
      rows.map(({ userId }) => userId),
    ),
    invoicesById(
      reader,
      rows.map(({ latestInvoiceId }) => latestInvoiceId),
    ),
    unfinishedUpdates(
      reader,
      rows.map(({ pendingUpdateId }) => pendingUpdateId),
    ),
    codesOf(reader, rows),
  ]);
  return rows.map(sub => {
    const gateway = gateways.get(sub.gatewayId);
    return {
      addonParams: addonParamsOf(sub),
      addons: shownAddons(sub.planSnapshot.addons),
      dayLeft: Math.max(0, Math.ceil((sub.currentPeriodEnd - reader.now) / DAY)),
      discount: codes.get(sub.discount?.code ?? '') ?? null,
      gateway: gateway ? gatewayView(gateway) : null,
      latestInvoice: invoices.get(sub.latestInvoiceId) ?? null,
      note: '',
      plan: shownPlan(sub.planSnapshot.plan),
      previousStatus: contract.subscriptionStatus[sub.previousStatus],
      source: '',
      subscription: subscriptionView(sub),
      unfinishedSubscriptionPendingUpdate: updates.get(sub.pendingUpdateId) ?? null,
      user: users.get(sub.userId) ?? null,
    };
  });
}

/** The same as subscription/detail shows it, without what only lists show. */
export async function detailOf(reader: Reader, sub: Subscription) {
  const [detail] = await detailsOf(reader, [sub]);
  if (!detail) throw new Error(`subscription ${sub.subscriptionId} has no detail`);
  const { addonParams, addons, gateway, latestInvoice, plan, subscription, user } = detail;
  const { unfinishedSubscriptionPendingUpdate } = detail;
  return {
    addonParams,
    addons,
    gateway,
    latestInvoice,
    plan,
    subscription,
    user,
    unfinishedSubscriptionPendingUpdate,
  };
}

async function codesOf(
  reader: Reader,
  rows: readonly Subscription[],
): Promise<ReadonlyMap<string, contract.Discount | null>> {
  const codes = [...new Set(rows.map(({ discount }) => discount?.code ?? ''))].filter(code => code !== '');
  const found = await Promise.all(codes.map(code => discounts.shown(reader, code)));
  return new Map(codes.map((code, at) => [code, found[at] ?? null]));
}
