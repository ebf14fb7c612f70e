import { Controller } from '@nestjs/common';
import { changeDueDay, type In } from '@recur/contracts';
import { dueDayOf, dueSeries, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/lookup.js';
import { compose } from '../../invoicing/composed/compose.js';
import { previewOf } from '../../invoicing/composed/preview.js';
import { subscriptionAggregate } from '../aggregate.js';
import { Arrears } from '../arrears.js';
import { ChangeEffects } from '../changes/effects.js';
import { assertDueDay } from '../domain/first.js';
import { intervalOf } from '../domain/items.js';
import { isInTrial, planOf, type Subscription } from '../domain/subscription.js';
import { nextBill } from '../next-bill.js';
import { periodsFrom } from '../periods.js';
import { NEXT } from '../schedule.js';
import { subscriptionView } from '../views.js';

/** subscription/change_due_day. */
@Controller()
export class DueDays {
  constructor(
    private readonly db: Db,
    private readonly changes: ChangeEffects,
    private readonly arrears: Arrears,
  ) {}

  /**
   * The current period stays, and a paid next one; then a stub leads to the first due day, and full periods follow. An
   * open next invoice is replaced by that of the stub. Answers the next invoice as it will be made.
   */
  @Handle(changeDueDay)
  change({ subscriptionId, dueDay }: In<typeof changeDueDay>, caller: Caller) {
    return this.db.write(caller, tx => this.changed(tx, { subscriptionId, dueDay }));
  }

  /** Changes the due day within a transaction of the caller. */
  async changed(tx: Tx, { subscriptionId, dueDay }: In<typeof changeDueDay>) {
    const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    assertMovable(sub, tx.now);
    const interval = intervalOf(planOf(sub));
    assertDueDay(dueDay, planOf(sub), '/dueDay');
    if (dueDayOf(sub.anchor, interval, sub.timeZone) === dueDay) {
      return { subscription: subscriptionView(sub), invoice: null };
    }
    const [ahead] = await periodsFrom(tx, subscriptionId, sub.currentPeriodEnd);
    if (ahead?.state === 'open') await this.changes.withdrawNext(tx, sub);
    const from = ahead?.state === 'paid' ? ahead.endAt : sub.currentPeriodEnd;
    const { anchor, k: periodNo } = dueSeries(from, sub.anchor, dueDay, interval, sub.timeZone);
    // lines that the withdrawn invoice had carried are unbilled again
    const before = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    const after = { ...before, anchor, periodNo, modifyTime: tx.now };
    const subscription = tx.step(subscriptionAggregate, after, 'subscription.updated', {
      log: `ChangeDueDay: ${dueDay}`,
    });
    tx.schedule(NEXT, subscriptionId, tx.now);
    return { subscription, invoice: ahead?.state === 'paid' ? null : await nextInvoice(tx, this.arrears, after) };
  }
}

function assertMovable(sub: Subscription, now: number): void {
  const { subscriptionId, status } = sub;
  const why =
    status !== 'active'
      ? `is ${status}`
      : isInTrial(sub, now)
        ? 'is in a trial'
        : intervalOf(planOf(sub)).unit === 'day'
          ? 'is billed by the day'
          : undefined;
  if (!why) return;
  throw new Rejected('subscription_wrong_state', `Subscription ${subscriptionId} ${why}: cannot change its due day`);
}

async function nextInvoice(tx: Tx, arrears: Arrears, sub: Subscription) {
  const { bill, sub: billed } = await nextBill(tx, sub, { arrears, moment: tx.now });
  const [gateway, sellerCountryCode] = await Promise.all([findGateway(tx, billed.gatewayId), sellerCountry(tx)]);
  return previewOf(tx, await compose(tx, bill, { gateway, sellerCountryCode }));
}
