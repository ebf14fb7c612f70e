import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/gateway-index.js';
import { endServicePeriods } from '../../invoices/crediting/creditable-lines.js';
import { daysAfter } from '../../invoices/domain/deadlines.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import { InvoiceIssuer } from '../../invoices/issuing/issue.js';
import { boundAfterChange, lockReserved } from '../codes.js';
import { sellsItems } from '../domain/apply-change.js';
import { type PeriodRow, sellsPlan } from '../domain/periods.js';
import { pricedFrom } from '../domain/repricing.js';
import type { Subscription } from '../domain/subscription.js';
import { afterDeferred } from '../pending-update.js';
import { addPeriod, voidPeriod } from '../periods.js';
import { withPlannedPrices } from '../prices/walk.js';
import { schedulePriceNotice } from '../schedule.js';
import { subscriptionSettingsOf } from '../settings.js';
import { subscriptionAggregate } from '../views.js';
import { type NewPeriodCharge, newPeriodCharge, nextLines } from './next-period.js';
import { finishUpdate, PlanChanges } from './plan-changes.js';
import { pendingUpdateAggregate } from './views.js';

/** Changes that wait for the end of the period. The subscription is locked. */
@Injectable()
export class ScheduledChanges {
  constructor(
    private readonly planChanges: PlanChanges,
    private readonly issuer: InvoiceIssuer,
  ) {}

  /**
   * Carries out the deferred change of a subscription whose period is over, and returns it as it is from then on, with its
   * next period, which is not entered; undefined without such a change. The next period's invoice, where it was made for
   * what the subscription sold before, is replaced: an open one is cancelled for the cycle to make it again, a paid one is
   * credited in full and charged again.
   */
  async applyAtRenewal(tx: Tx, sub: Subscription, next: PeriodRow | undefined): Promise<AppliedChange | undefined> {
    const update = sub.pendingUpdateId ? await tx.lockIfAny(pendingUpdateAggregate, sub.pendingUpdateId) : undefined;
    if (update?.status !== 'pending' || update.effect === 'now') return undefined;
    await lockReserved(tx, sub);
    const sold = { ...afterDeferred(sub, update), pendingUpdateId: '', modifyTime: tx.now };
    // the change was priced when it was submitted
    const after = await withPlannedPrices(tx, sold);
    const nothing: Replaced = { upcoming: undefined, invoiceId: '', left: sub };
    const { upcoming, invoiceId, left } = next ? await this.replace(tx, sub, after, next) : nothing;
    finishUpdate(tx, { ...update, invoiceId });
    const bound = await boundAfterChange(tx, left, after.discount, after);
    const counted = upcoming && upcoming !== next && { anchor: upcoming.startAt, periodNo: 0 };
    const changed = { ...after, ...counted, carried: left.carried, discount: bound };
    tx.step(subscriptionAggregate, changed, 'subscription.updated');
    schedulePriceNotice(tx, changed);
    return { sub: changed, upcoming };
  }

  /** Replaces the invoice of the next period, where it does not sell what the subscription sells from then on. */
  private async replace(tx: Tx, sub: Subscription, changed: Subscription, next: PeriodRow): Promise<Replaced> {
    const after = pricedFrom(changed, next.startAt);
    const kept: Replaced = { upcoming: next, invoiceId: '', left: sub };
    if (next.state === 'paid') {
      const charge = await newPeriodCharge(tx, { sub, after }, next);
      return charge ? this.chargeNewPeriod(tx, charge, { sub, after, next }) : kept;
    }
    if (!sellsPlan(next) || sellsItems(after, (await nextLines(tx, next)).lines)) return kept;
    return { upcoming: undefined, invoiceId: '', left: await this.planChanges.voidUpcomingInvoice(tx, sub) };
  }

  private async chargeNewPeriod(
    tx: Tx,
    { input, ended, newPeriod }: NewPeriodCharge,
    { sub, after, next }: { sub: Subscription; after: Subscription; next: PeriodRow },
  ): Promise<Replaced> {
    const { subscriptionId, userId } = sub;
    const [gateway, sellerCountryCode, { firstInvoiceDays }] = await Promise.all([
      findGateway(tx, after.gatewayId),
      sellerCountry(tx),
      subscriptionSettingsOf(tx),
    ]);
    const calculated = await calculateInvoice(tx, input, { sellerCountryCode, gateway });
    const deadline = daysAfter(tx.now, firstInvoiceDays);
    const { view } = await this.issuer.issue(tx, calculated, {
      status: 'open',
      createFrom: createFrom.autoRenew,
      deadline,
    });
    await endServicePeriods(
      tx,
      ended.map(({ lineId }) => lineId),
      next.startAt,
    );
    const { invoiceId } = view;
    if (!newPeriod) return { upcoming: next, invoiceId, left: sub };
    await voidPeriod(tx, next);
    const { start: startAt, end: endAt } = newPeriod;
    const row = { subscriptionId, userId, kind: 'cycle', startAt, endAt, invoiceId, state: 'paid' } as const;
    return { upcoming: await addPeriod(tx, row), invoiceId, left: sub };
  }
}

/** A subscription after its deferred change, with its next period where that has an invoice. */
export interface AppliedChange {
  sub: Subscription;
  upcoming: PeriodRow | undefined;
}

/** The next period, the document that charges it again, '' for none, and the subscription with what came back to it. */
interface Replaced {
  upcoming: PeriodRow | undefined;
  invoiceId: string;
  left: Subscription;
}
