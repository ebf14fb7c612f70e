import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, work } from '@recur/platform';
import { isInForce, type Subscription } from './domain/subscription.js';
import { END_NOTICE, endNoticeTimeOf, willEnd } from './schedule.js';
import { subscriptions } from './tables.js';
import { subscriptionAggregate } from './views.js';

/** Tells of ends with a period before they come. */
@Injectable()
export class EndNotices {
  readonly work: Work = work(
    END_NOTICE,
    { time: 'merchant', batch: 100 },
    eachItem((tx, { key }) => this.tell(tx, key)),
  );

  /** The end may have moved meanwhile, and the notice with it; one that was taken back is not told. */
  private async tell(tx: Tx, subscriptionId: string): Promise<void> {
    const sub = await tx.lockIfAny(subscriptionAggregate, subscriptionId);
    if (!sub || !willEnd(sub)) return;
    const at = endNoticeTimeOf(sub);
    if (at > tx.now) {
      tx.schedule(END_NOTICE, subscriptionId, at);
      return;
    }
    tx.step(subscriptionAggregate, { ...sub, modifyTime: tx.now }, 'subscription.track.willcancel');
    const { userId, planId } = sub;
    tx.log(`Subscription(${subscriptionId})`, 'EndNotice', { subscriptionId, userId, planId });
  }
}

/**
 * Tells that a user has no subscription any more, where the last one that had begun has ended. Ends of several at once wait
 * for one another: the last of them tells.
 */
export async function tellIfLast(tx: Tx, over: Subscription, before: Subscription): Promise<void> {
  if (!isInForce(before)) return;
  const { merchantId, userId } = over;
  await tx.lockName(`ends ${merchantId} ${userId}`);
  // others may end in this transaction too
  await tx.saveNow(subscriptions, over);
  const others = await tx.query(
    `select 1 from subscriptions where merchant_id = $1 and user_id = $2 and status in ('active', 'incomplete') limit 1`,
    [merchantId, userId],
  );
  if (others.length === 0) tx.step(subscriptionAggregate, over, 'subscription.track.user.outofsubscribe');
}
