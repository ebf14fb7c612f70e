import type { Tx } from '@recur/platform';
import { ownMerchant } from '../customers/merchants.js';
import type { Gateway } from '../gateways/domain/gateway.js';
import { allGateways } from '../gateways/gateway-index.js';
import { type RenewalState, renewalState } from './domain/renewal.js';
import { subscriptionSettingsOf } from './settings.js';
import { type SubscriptionSettings, subscriptionPeriods, subscriptions } from './tables.js';

/** Facts of a batch of subscriptions of one merchant, all of them locked. */
export interface RenewalBatch {
  settings: SubscriptionSettings;
  sellerCountryCode: string;
  gateways: ReadonlyMap<number, Gateway>;
  states: ReadonlyMap<string, RenewalState>;
}

/** Subscriptions ($2), in the order in which they are named: that of their ids. */
const subscriptionsText = `select s.* from unnest($2::text[]) asked(id) cross join lateral
  (select * from subscriptions where merchant_id = $1 and subscription_id = asked.id offset 0 for update) s`;

/** Live periods of subscriptions ($2) from those that begin at $3 on: the current one and those after it. */
const periodsText = `select p.* from unnest($2::text[], $3::bigint[]) s(subscription_id, since) cross join lateral
  (select * from subscription_periods where merchant_id = $1 and subscription_id = s.subscription_id
    and start_at >= s.since and state <> 'void' order by start_at offset 0 for update) p`;

/** Locks subscriptions and reads their periods, with one statement each. */
export async function loadRenewalBatch(tx: Tx, subscriptionIds: readonly string[]): Promise<RenewalBatch> {
  const locked = await tx.lockFound(subscriptions, subscriptionsText, [tx.merchantId, [...subscriptionIds].sort()]);
  const since = locked.map(({ currentPeriodStart }) => currentPeriodStart);
  const ids = locked.map(({ subscriptionId }) => subscriptionId);
  const [periods, settings, merchant, gateways] = await Promise.all([
    tx.lockFound(subscriptionPeriods, periodsText, [tx.merchantId, ids, since]),
    subscriptionSettingsOf(tx),
    ownMerchant(tx),
    allGateways(tx),
  ]);
  return {
    settings,
    sellerCountryCode: merchant.countryCode,
    gateways: new Map(gateways.map(gateway => [gateway.gatewayId, gateway])),
    states: new Map(locked.map(sub => [sub.subscriptionId, renewalState(sub, periods)])),
  };
}
