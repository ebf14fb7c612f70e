import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { knownPlans } from '../../customers/plans.js';
import { subscriptionAggregate } from '../aggregate.js';
import { sceneOf } from '../cycle/scene.js';
import { endedStatuses } from '../domain/lifecycle.js';
import { leadOf, PRICE_NOTICE } from '../schedule.js';
import { PRICE_WALK, walkKey, walkOf } from './arrivals.js';
import { isUnannounced } from './domain/entry.js';
import { timed, withPriceChanges } from './domain/repricing.js';
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
    const { states, settings } = await sceneOf(tx, ids);
    const all = [...states.values()];
    const plans = await knownPlans(
      tx,
      all.flatMap(({ sub }) => sub.items.map(item => item.planId)),
    );
    let count = 0;
    for (const { sub, ahead } of all) {
      const planned = withPriceChanges(sub, plans);
      if (!planned) continue;
      count += 1;
      const terms = { now: tx.now, noticeDays: settings.noticeDays, leadSeconds: leadOf(sub) };
      const next = { ...timed(planned.sub, ahead ? [ahead] : [], terms), modifyTime: tx.now };
      if (planned.takenBack.length > 0) await this.notices.takeBack(tx, next, planned.takenBack);
      else tx.step(subscriptionAggregate, next, 'subscription.updated');
      const toAnnounce = next.priceChanges.find(isUnannounced);
      if (toAnnounce) tx.schedule(PRICE_NOTICE, sub.subscriptionId, toAnnounce.noticeTime);
    }
    if (count > 0) tx.log(`Plan(${planId})`, `PriceChange: ${count} subscriptions`, { planId });
  }
}
