import { Controller, Injectable } from '@nestjs/common';
import { type In, listPendingUpdates, pendingUpdateDetail } from '@recur/contracts';
import { type Caller, Db, Handle, sorted } from '@recur/platform';
import { subscriptionAggregate } from '../aggregate.js';
import type { Subscription } from '../domain/subscription.js';
import { pendingUpdateAggregate } from './aggregate.js';
import { ChangeEffects } from './effects.js';
import { pendingUpdates } from './tables.js';
import { pendingUpdateView } from './views.js';

/** Reads of changes that were submitted. */
@Controller()
export class PendingUpdateReads {
  constructor(private readonly db: Db) {}

  @Handle(listPendingUpdates)
  list({ subscriptionId, page, count }: In<typeof listPendingUpdates>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await reader.get(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const order = sorted({ createTime: 'create_time' }, {}, 'pending_update_id');
      const where = [['subscription_id = ?', subscriptionId] as const];
      const { rows, total } = await reader.page({ from: pendingUpdates, where, order, page, count });
      return { subscriptionPendingUpdates: rows.map(pendingUpdateView), total };
    });
  }

  @Handle(pendingUpdateDetail)
  detail({ subscriptionPendingUpdateId: id }: In<typeof pendingUpdateDetail>, caller: Caller) {
    return this.db.read(caller, async reader => ({
      subscriptionPendingUpdate: pendingUpdateView(
        await reader.get(pendingUpdateAggregate, id, 'pending_update_not_found'),
      ),
    }));
  }
}

/** Takes submitted changes back, before they take effect. */
@Injectable()
export class PendingUpdates {
  constructor(
    private readonly db: Db,
    private readonly effects: ChangeEffects,
  ) {}

  /** Cancels the unfinished change of a subscription, with its invoice. No effect where there is none. */
  cancel({ subscriptionId }: { subscriptionId: string }, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const { pendingUpdateId } = await this.effects.cancelPending(tx, sub);
      if (pendingUpdateId !== sub.pendingUpdateId) tx.log(`Subscription(${subscriptionId})`, 'CancelUpdate', ids(sub));
      return {};
    });
  }
}

const ids = ({ subscriptionId, userId }: Subscription) => ({ subscriptionId, userId });
