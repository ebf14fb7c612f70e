import { Controller, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type In, listPendingUpdates, pendingUpdateDetail, submitChange, userStatus } from '@recur/contracts';
import { type Caller, Db, Handle, sorted, systemCaller, type Tx } from '@recur/platform';
import { findUser } from '../../customers/users.js';
import { isAwaited } from '../../invoices/open-invoices.js';
import { PlanUpgrades, UPGRADE_WORK } from '../../usage/limits/upgrades.js';
import type { Subscription } from '../domain/subscription.js';
import { pendingUpdates } from '../pending-update.js';
import { subscriptionAggregate } from '../views.js';
import { PlanChanges } from './plan-changes.js';
import { ChangeSubmit } from './submit.js';
import { pendingUpdateAggregate, pendingUpdateView } from './views.js';

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
    private readonly planChanges: PlanChanges,
  ) {}

  /** Cancels the unfinished change of a subscription, with its invoice. No effect where there is none. */
  cancel({ subscriptionId }: { subscriptionId: string }, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const { pendingUpdateId } = await this.planChanges.cancelPendingUpdate(tx, sub);
      if (pendingUpdateId !== sub.pendingUpdateId) tx.log(`Subscription(${subscriptionId})`, 'CancelUpdate', ids(sub));
      return {};
    });
  }
}

const ids = ({ subscriptionId, userId }: Subscription) => ({ subscriptionId, userId });

/** Seconds until the next look, while a payment of the subscription is under way. */
const upgradeAwaitSeconds = 60;

/** Upgrades that usage starts: an event beyond a limit asks for the plan that autoUpgradePlanId names. */
@Injectable()
export class LimitUpgrades extends PlanUpgrades {
  constructor(private readonly modules: ModuleRef) {
    super();
  }

  /** Submits the upgrade with the usual payment, unless it took place meanwhile or is on its way. */
  async start(tx: Tx, of: { subscriptionId: string; planId: number }): Promise<void> {
    const { subscriptionId, planId: newPlanId } = of;
    const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    if (sub.status !== 'active' || sub.planId === newPlanId || tx.now >= sub.currentPeriodEnd) return;
    const { pendingUpdateId } = sub;
    const pending = pendingUpdateId === '' ? undefined : await tx.find(pendingUpdates, { pendingUpdateId });
    if (pending?.updatePlanId === newPlanId) return;
    // a user who is suspended buys nothing
    if ((await findUser(tx, { userId: sub.userId }))?.status === userStatus.suspended) return;
    if (await isAwaited(tx, subscriptionId)) {
      tx.schedule(UPGRADE_WORK, `${subscriptionId}-${newPlanId}`, tx.now + upgradeAwaitSeconds);
      return;
    }
    const input = submitChange.input.parse({ subscriptionId, newPlanId, quantity: sub.quantity, effectImmediate: 1 });
    const changes = this.modules.get(ChangeSubmit, { strict: false });
    await changes.submitted(tx, input, systemCaller(tx.merchantId, '', 0));
  }
}
