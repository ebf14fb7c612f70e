import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { submitChange, userStatus } from '@recur/contracts';
import { systemCaller, type Tx } from '@recur/platform';
import { findUser } from '../../customers/users.js';
import { isAwaited } from '../../invoicing/composed/open-invoices.js';
import { UPGRADE_WORK, UsageUpgrades } from '../../usage/limits/upgrades.js';
import { subscriptionAggregate } from '../aggregate.js';
import { ChangeSubmit } from './submit.js';
import { pendingUpdates } from './tables.js';

/** Seconds until the next look, while a payment of the subscription is under way. */
const awaitSeconds = 60;

/** Upgrades that usage starts: an event beyond a limit asks for the plan that autoUpgradePlanId names. */
@Injectable()
export class LimitUpgrades {
  constructor(
    upgrades: UsageUpgrades,
    private readonly modules: ModuleRef,
  ) {
    upgrades.register((tx, of) => this.start(tx, of));
  }

  /** Submits the upgrade with the usual payment, unless it took place meanwhile or is on its way. */
  private async start(tx: Tx, of: { subscriptionId: string; planId: number }): Promise<void> {
    const { subscriptionId, planId: newPlanId } = of;
    const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    if (sub.status !== 'active' || sub.planId === newPlanId || tx.now >= sub.currentPeriodEnd) return;
    const { pendingUpdateId } = sub;
    const pending = pendingUpdateId === '' ? undefined : await tx.find(pendingUpdates, { pendingUpdateId });
    if (pending?.updatePlanId === newPlanId) return;
    // a user who is suspended buys nothing
    if ((await findUser(tx, { userId: sub.userId }))?.status === userStatus.suspended) return;
    if (await isAwaited(tx, subscriptionId)) {
      tx.schedule(UPGRADE_WORK, `${subscriptionId}-${newPlanId}`, tx.now + awaitSeconds);
      return;
    }
    const input = submitChange.input.parse({ subscriptionId, newPlanId, quantity: sub.quantity, effectImmediate: 1 });
    const changes = this.modules.get(ChangeSubmit, { strict: false });
    await changes.submitted(tx, input, systemCaller(tx.merchantId, '', 0));
  }
}
