import { Controller } from '@nestjs/common';
import { activateTemporarily, changeDueDay, changeGateway, type In, resumeSubscription } from '@recur/contracts';
import { DAY_SECONDS, dueDayOf, dueSeries, invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { PayInvoice } from '../../collection/pay.js';
import { sellerCountry } from '../../customers/merchants.js';
import { announceMethod } from '../../gateways/chargeable.js';
import { usableGateway } from '../../gateways/domain/gateway.js';
import { allGateways, assertSaved, findGateway } from '../../gateways/gateway-index.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import { previewOf } from '../../invoices/issuing/preview.js';
import { openInvoicesOf } from '../../invoices/open-invoices.js';
import { InvoiceOutcomes } from '../../invoices/outcomes.js';
import { invoiceAggregate } from '../../invoices/views.js';
import { Arrears } from '../arrears.js';
import { PlanChanges } from '../change/plan-changes.js';
import { upcomingInvoice } from '../change/upcoming-invoice.js';
import { intervalOf } from '../domain/items.js';
import { assertDueDay } from '../domain/start.js';
import { hasEnded, isInTrial, moved, planOf, type Subscription } from '../domain/subscription.js';
import { periodsFrom } from '../periods.js';
import { NEXT, scheduleEndNotice } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate, subscriptionView } from '../views.js';

/** subscription/change_due_day. */
@Controller()
export class DueDays {
  constructor(
    private readonly db: Db,
    private readonly changes: PlanChanges,
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
    const [upcoming] = await periodsFrom(tx, subscriptionId, sub.currentPeriodEnd);
    // lines that the withdrawn invoice had carried are unbilled again
    const before = upcoming?.state === 'open' ? await this.changes.voidUpcomingInvoice(tx, sub) : sub;
    const from = upcoming?.state === 'paid' ? upcoming.endAt : sub.currentPeriodEnd;
    const { anchor, k: periodNo } = dueSeries(from, sub.anchor, dueDay, interval, sub.timeZone);
    const after = { ...before, anchor, periodNo, modifyTime: tx.now };
    const subscription = tx.step(subscriptionAggregate, after, 'subscription.updated', {
      log: `ChangeDueDay: ${dueDay}`,
    }).view;
    tx.schedule(NEXT, subscriptionId, tx.now);
    return { subscription, invoice: upcoming?.state === 'paid' ? null : await previewOfNext(tx, this.arrears, after) };
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

async function previewOfNext(tx: Tx, arrears: Arrears, sub: Subscription) {
  const { input: next, sub: billed } = await upcomingInvoice(tx, sub, { arrears, moment: tx.now });
  const [gateway, sellerCountryCode] = await Promise.all([findGateway(tx, billed.gatewayId), sellerCountry(tx)]);
  return previewOf(tx, await calculateInvoice(tx, next, { gateway, sellerCountryCode }));
}

const longestGrant = 30 * DAY_SECONDS;

/** Operations on the course of a subscription: active_temporarily, change_gateway, resume. */
@Controller()
export class RunningSubscriptions {
  constructor(
    private readonly db: Db,
    private readonly outcomes: InvoiceOutcomes,
    private readonly paying: PayInvoice,
  ) {}

  /** Usable until a time, which becomes the deadline of its open invoice. */
  @Handle(activateTemporarily)
  grant({ subscriptionId, expireTime }: In<typeof activateTemporarily>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      if (expireTime <= tx.now || expireTime > tx.now + longestGrant) {
        throw invalid('/expireTime', `must be after ${tx.now} and at most 30 days after it`);
      }
      if (sub.status === 'active') throw wrongState(sub, 'grant it time');
      const granted = { ...moved(sub, 'suspend', tx.now), unpaidUntil: expireTime };
      tx.step(subscriptionAggregate, granted, 'subscription.updated', { log: 'ActiveTemporarily' });
      for (const row of await periodsFrom(tx, subscriptionId, sub.currentPeriodStart)) {
        if (row.state !== 'open') continue;
        tx.save(subscriptionPeriods, { ...row, deadline: expireTime });
        const { invoiceId } = row;
        const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
        if (invoice.status !== 'processing') continue;
        tx.step(invoiceAggregate, { ...invoice, deadline: expireTime }, 'invoice.updated');
        tx.schedule('invoice.expire', invoiceId, expireTime);
      }
      tx.schedule(NEXT, subscriptionId, tx.now);
      scheduleEndNotice(tx, granted, sub);
      return {};
    });
  }

  @Handle(changeGateway)
  changeGateway(input: In<typeof changeGateway>, caller: Caller) {
    const { subscriptionId, gatewayId, gatewayPaymentType, paymentMethodId } = input;
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      if (hasEnded(sub.status)) throw wrongState(sub, 'change its gateway');
      const gateway = usableGateway(await allGateways(tx), gatewayId);
      const named = { gatewayId, userId: sub.userId, methodId: paymentMethodId };
      await assertSaved(tx, named);
      const changed = { ...sub, gatewayId, gatewayPaymentType, paymentMethodId, modifyTime: tx.now };
      tx.step(subscriptionAggregate, changed, 'subscription.updated', { log: 'ChangeGateway' });
      for (const invoiceId of await openInvoicesOf(tx, subscriptionId)) {
        const invoice = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
        await this.paying.move(tx, invoice, gateway, { automatic: !sub.manualPayment });
      }
      // other subscriptions of the user keep the methods that they are charged with
      announceMethod(tx, { ...named, methodId: '' });
      return {};
    });
  }

  /** Takes up the billing of a parked subscription: what was missed is billed, one period per retry interval. */
  @Handle(resumeSubscription)
  resume({ subscriptionId }: In<typeof resumeSubscription>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      if (sub.parkedReason === '') throw new Rejected('subscription_not_parked');
      const resumed = { ...sub, parkedReason: '', parkedAt: tx.now, modifyTime: tx.now };
      tx.schedule(NEXT, subscriptionId, tx.now);
      return { subscription: tx.step(subscriptionAggregate, resumed, 'subscription.updated', { log: 'Resume' }).view };
    });
  }
}

const wrongState = ({ subscriptionId, status }: Subscription, move: string) =>
  new Rejected('subscription_wrong_state', `Subscription ${subscriptionId} is ${status}: cannot ${move}`);
