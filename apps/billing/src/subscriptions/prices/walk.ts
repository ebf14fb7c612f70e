import { Controller, Injectable } from '@nestjs/common';
import { type In, type MultiCurrencyConfig, priceChangeCounts } from '@recur/contracts';
import { type Caller, Db, eachItem, Handle, type Row, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { type KnownPlan, knownPlans } from '../../customers/catalog.js';
import { priceIn } from '../domain/items.js';
import { changesOf, isUnannounced } from '../domain/price-entry.js';
import { timed, withPriceChanges } from '../domain/repricing.js';
import { endedStatuses, liveStatuses, type Subscription } from '../domain/subscription.js';
import { loadRenewalBatch } from '../renewal-batch.js';
import { leadOf, PRICE_NOTICE } from '../schedule.js';
import { subscriptionAggregate } from '../views.js';
import { PriceNotices } from './notices.js';

/** Subscriptions that one item of work looks at. */
const limits = { subscriptions: 200, leaseSeconds: 120 } as const;

/** Subscriptions ($2: none of these states) that sell a plan ($3), after one of them ($4), in the order of their ids. */
const sellingText = `select subscription_id from subscriptions
  where merchant_id = $1 and status <> all($2) and items @> $3 and subscription_id > $4
  order by subscription_id limit ${limits.subscriptions}`;

/** Plans the price changes of a plan over its subscriptions, in the order of their ids; a repeat changes nothing. */
@Injectable()
export class PriceWalks {
  readonly work: Work = work(
    PRICE_WALK,
    { time: 'merchant', batch: 1, leaseSeconds: limits.leaseSeconds, atOnce: 1 },
    eachItem((tx, item) => this.walk(tx, item)),
  );

  constructor(private readonly notices: PriceNotices) {}

  private async walk(tx: Tx, { key }: WorkItem): Promise<void> {
    const { planId, round, after } = walkOf(key);
    const asked = [tx.merchantId, endedStatuses, JSON.stringify([{ planId }]), after];
    const ids = (await tx.query(sellingText, asked)).map(({ subscription_id: id }) => String(id));
    const last = ids.at(-1);
    if (last === undefined) return;
    if (ids.length === limits.subscriptions) {
      tx.schedule(PRICE_WALK, walkKey({ planId, round, after: last }), tx.now);
    }
    const { states, settings } = await loadRenewalBatch(tx, ids);
    const all = [...states.values()];
    const plans = await knownPlans(
      tx,
      all.flatMap(({ sub }) => sub.items.map(item => item.planId)),
    );
    let count = 0;
    for (const { sub, upcoming } of all) {
      const planned = withPriceChanges(sub, plans);
      if (!planned) continue;
      count += 1;
      const terms = { now: tx.now, noticeDays: settings.noticeDays, leadSeconds: leadOf(sub) };
      const next = { ...timed(planned.sub, upcoming ? [upcoming] : [], terms), modifyTime: tx.now };
      if (planned.takenBack.length > 0) await this.notices.takeBack(tx, next, planned.takenBack);
      else tx.step(subscriptionAggregate, next, 'subscription.updated');
      const toAnnounce = next.priceChanges.find(isUnannounced);
      if (toAnnounce) tx.schedule(PRICE_NOTICE, sub.subscriptionId, toAnnounce.noticeTime);
    }
    if (count > 0) tx.log(`Plan(${planId})`, `PriceChange: ${count} subscriptions`, { planId });
  }
}

/** Kind of due work: plans a price change of a plan over the subscriptions that sell it. Its key is `walkKey`. */
const PRICE_WALK = 'plan.price_change';

/** A walk over the subscriptions to a plan: of its two rounds one, after a subscription. */
export interface PriceWalk {
  planId: number;
  round: number;
  /** '' at the beginning. */
  after: string;
}

const walkKey = ({ planId, round, after }: PriceWalk): string => `${planId}/${round}/${after}`;

function walkOf(key: string): PriceWalk {
  const [planId, round, after = ''] = key.split('/');
  return { planId: Number(planId), round: Number(round), after };
}

/** Seconds after which the second round begins: an order that was priced before may be saved after the first has passed. */
const SECOND_ROUND_SECONDS = 60;

/** Begins the walks of the price changes that changed plans bring. */
export async function pricesArrive(tx: Tx, changed: readonly KnownPlan[]): Promise<void> {
  const plans = changed.filter(({ data }) => changesOf(data) > 0);
  if (plans.length === 0) return;
  const before = await knownPlans(
    tx,
    plans.map(({ id }) => id),
  );
  for (const { id: planId, data } of plans) {
    const known = before.get(planId);
    if (known && changesOf(data) <= changesOf(known)) continue;
    tx.schedule(PRICE_WALK, walkKey({ planId, round: 1, after: '' }), tx.now);
    tx.schedule(PRICE_WALK, walkKey({ planId, round: 2, after: '' }), tx.now + SECOND_ROUND_SECONDS);
  }
}

/** The subscription with the price changes of its plans as they are now: for one that was priced earlier. */
export async function withPlannedPrices(tx: Tx, sub: Subscription): Promise<Subscription> {
  const plans = await knownPlans(
    tx,
    sub.items.map(({ planId }) => planId),
  );
  return withPriceChanges(sub, plans)?.sub ?? sub;
}

/**
 * Live subscriptions ($2: their states) that sell a plan ($3), by all that their new price depends on: they convert it by
 * the rules that they were sold by, which are looked at only where their currency is not the plan's ($4).
 */
const walkText = (isAddon: boolean) => `
  select s.currency, i."unitAmount" as unit_amount, s.status = 'active' as active, count(*)::integer as count,
    case when s.currency <> $4 then ${isAddon ? addonRules : `s.plan_snapshot -> 'plan' -> 'multiCurrencies'`} end as rules
  from subscriptions s cross join lateral jsonb_to_recordset(s.items) i("planId" bigint, "unitAmount" bigint)
  where s.merchant_id = $1 and s.status = any($2) and i."planId" = $3${isAddon ? '' : ' and s.plan_id = $3'}
  group by s.currency, i."unitAmount", s.status = 'active', rules`;
const addonRules = `(select a -> 'addonPlan' -> 'multiCurrencies' from jsonb_array_elements(s.plan_snapshot -> 'addons') a
      where (a -> 'addonPlan' ->> 'id')::bigint = $3 limit 1)`;

/** Counts the subscriptions that a price change of a plan concerns. */
@Controller()
export class PriceChangeCounts {
  constructor(private readonly db: Db) {}

  @Handle(priceChangeCounts)
  async count({ planId, isAddon, currency, newAmount }: In<typeof priceChangeCounts>, caller: Caller) {
    const values = [caller.merchantId, liveStatuses, planId, currency];
    const rows = await this.db.read(caller, reader => reader.query(walkText(isAddon), values));
    const affected = rows.filter(row => {
      const multiCurrencies = (row.rules ?? []) as MultiCurrencyConfig[];
      const plan = { id: planId, currency, amount: newAmount, multiCurrencies };
      return priceIn(plan, String(row.currency), newAmount) !== BigInt(String(row.unit_amount));
    });
    return {
      activeAffectedSubscriptions: sumOf(affected.filter(({ active }) => active === true)),
      totalAffectedSubscriptions: sumOf(affected),
    };
  }
}

const sumOf = (rows: readonly Row[]): number => rows.reduce((total, { count }) => total + Number(count), 0);
