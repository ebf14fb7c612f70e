import { Controller } from '@nestjs/common';
import { cancelAtPeriodEnd, cancelSubscription, type In, keepAfterPeriodEnd } from '@recur/contracts';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { resumeCollecting } from '../../invoices/collecting.js';
import { PlanChanges } from '../change/plan-changes.js';
import { endingAtPeriodEnd, type Subscription } from '../domain/subscription.js';
import { lockNamed } from '../find.js';
import { periodsFrom } from '../periods.js';
import { SubscriptionTermination } from '../renewal/termination.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionAggregate } from '../views.js';

/** subscription/cancel, cancel_at_period_end and cancel_last_cancel_at_period_end. */
@Controller()
export class CancelSubscription {
  constructor(
    private readonly db: Db,
    private readonly termination: SubscriptionTermination,
    private readonly changes: PlanChanges,
  ) {}

  @Handle(cancelSubscription)
  cancel({ reason, prorate, invoiceNow, refund, ...key }: In<typeof cancelSubscription>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await lockNamed(tx, key);
      await this.termination.end(tx, sub, { move: 'cancel', reason, log: 'Cancel', prorate, invoiceNow, refund });
      return {};
    });
  }

  @Handle(cancelAtPeriodEnd)
  cancelLater(key: In<typeof cancelAtPeriodEnd>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await lockNamed(tx, key);
      endingAtPeriodEnd(sub, true, tx.now);
      setEnding(tx, await this.changes.cancelDeferred(tx, sub), true);
      return {};
    });
  }

  @Handle(keepAfterPeriodEnd)
  keep(key: In<typeof keepAfterPeriodEnd>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await lockNamed(tx, key);
      setEnding(tx, sub, false);
      const [next] = await periodsFrom(tx, sub.subscriptionId, sub.currentPeriodEnd);
      if (next?.state === 'open' && next.invoiceId !== '') resumeCollecting(tx, next.invoiceId);
      return {};
    });
  }
}

function setEnding(tx: Tx, sub: Subscription, ends: boolean): void {
  const changed = endingAtPeriodEnd(sub, ends, tx.now);
  if (sub.cancelAtPeriodEnd === ends) return;
  const log = ends ? 'CancelAtPeriodEnd' : 'CancelLastCancelAtPeriodEnd';
  if (ends) tx.step(subscriptionAggregate, changed, 'subscription.end.of.this.cycle', { log });
  else tx.step(subscriptionAggregate, changed, 'subscription.resume.end.of.this.cycle', { log });
  scheduleNext(tx, changed, sub);
}
