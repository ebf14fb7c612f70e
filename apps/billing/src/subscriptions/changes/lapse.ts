import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { subscriptionAggregate } from '../aggregate.js';
import { pendingUpdateAggregate } from './aggregate.js';
import { ChangeEffects, LAPSE } from './effects.js';
import { pendingUpdates } from './tables.js';

/** Cancels changes that were not paid in time. */
@Injectable()
export class ChangeLapse {
  readonly work: Work = work(LAPSE, { time: 'merchant', batch: 100 }, async (tx, items) => {
    for (const item of items) await this.lapse(tx.item(item), item);
  });

  constructor(private readonly effects: ChangeEffects) {}

  private async lapse(tx: Tx, { key }: WorkItem): Promise<void> {
    // a change never moves to another subscription, so this may be read before the locks
    const known = await tx.find(pendingUpdates, { pendingUpdateId: key });
    if (!known) return;
    const sub = await tx.lock(subscriptionAggregate, known.subscriptionId, 'subscription_not_found');
    const update = await tx.lock(pendingUpdateAggregate, key, 'pending_update_not_found');
    if (update.status !== 'pending' || update.deadline === 0) return;
    await this.effects.cancel(tx, sub, update);
    tx.log(`Subscription(${sub.subscriptionId})`, 'LapseUpdate', {
      subscriptionId: sub.subscriptionId,
      userId: sub.userId,
    });
  }
}
