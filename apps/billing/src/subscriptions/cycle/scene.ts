import { hydrate, type Tx } from '@recur/platform';
import { ownMerchant } from '../../customers/merchants.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/lookup.js';
import { type CycleState, stateOf } from '../domain/cycle.js';
import type { PeriodRow } from '../domain/periods.js';
import { settingsOf } from '../settings.js';
import { type Settings, subscriptionPeriods, subscriptions } from '../tables.js';

/** What the cycle knows of a batch of subscriptions of one merchant, all of them locked. */
export interface Scene {
  settings: Settings;
  sellerCountryCode: string;
  gateways: ReadonlyMap<number, Gateway>;
  states: ReadonlyMap<string, CycleState>;
}

/** Live periods of subscriptions ($2) from those that begin at $3 on: the current one and those after it. */
const periodsText = `select p.* from unnest($2::text[], $3::bigint[]) s(subscription_id, since) cross join lateral
  (select * from subscription_periods where merchant_id = $1 and subscription_id = s.subscription_id
    and start_at >= s.since and state <> 'void' order by start_at offset 0 for update) p`;

/** Locks subscriptions and reads their periods, with one statement each. */
export async function sceneOf(tx: Tx, subscriptionIds: readonly string[]): Promise<Scene> {
  const locked = await tx.lockAmong(subscriptions, 'subscriptionId', subscriptionIds);
  const since = locked.map(({ currentPeriodStart }) => currentPeriodStart);
  const [rows, settings, merchant, gateways] = await Promise.all([
    tx.run(periodsText, [tx.merchantId, locked.map(({ subscriptionId }) => subscriptionId), since]),
    settingsOf(tx),
    ownMerchant(tx),
    allGateways(tx),
  ]);
  const periods = rows.map(row => hydrate<PeriodRow>(subscriptionPeriods, row));
  return {
    settings,
    sellerCountryCode: merchant.countryCode,
    gateways: new Map(gateways.map(gateway => [gateway.gatewayId, gateway])),
    states: new Map(locked.map(sub => [sub.subscriptionId, stateOf(sub, periods)])),
  };
}
