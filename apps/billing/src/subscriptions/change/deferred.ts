import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/gateway-index.js';
import { endLines } from '../../invoices/crediting/creditable-lines.js';
import { daysAfter } from '../../invoices/domain/deadlines.js';
import { compose } from '../../invoices/issuing/calculate.js';
import { InvoiceMaker } from '../../invoices/issuing/issue.js';
import { boundAfterChange, lockWaiting } from '../codes.js';
import { sells } from '../domain/apply-change.js';
import { type PeriodRow, sellsPlan } from '../domain/periods.js';
import { pricedFrom } from '../domain/repricing.js';
import type { Subscription } from '../domain/subscription.js';
import { addPeriod, voidPeriod } from '../periods.js';
import { withPlannedPrices } from '../prices/walk.js';
import { scheduleNotice } from '../schedule.js';
import { settingsOf } from '../settings.js';
import { afterDeferred } from '../update-terms.js';
import { subscriptionAggregate } from '../views.js';
import { ChangeEffects, finish } from './effects.js';
import { type ChargedAnew, chargedAnew, nextLines } from './next-period.js';
import { pendingUpdateAggregate } from './views.js';

/** Changes that wait for the end of the period. The subscription is locked. */
@Injectable()
export class DeferredChanges {
  constructor(
    private readonly effects: ChangeEffects,
    private readonly maker: InvoiceMaker,
  ) {}

  /**
   * Carries out the deferred change of a subscription whose period is over, and returns it as it is from then on, with its
   * next period, which is not entered; undefined without such a change. The next period's invoice, where it was made for
   * what the subscription sold before, is replaced: an open one is cancelled for the cycle to make it again, a paid one is
   * credited in full and charged anew.
   */
  async take(tx: Tx, sub: Subscription, next: PeriodRow | undefined): Promise<Deferred | undefined> {
    const update = sub.pendingUpdateId ? await tx.lockIfAny(pendingUpdateAggregate, sub.pendingUpdateId) : undefined;
    if (update?.status !== 'pending' || update.effectImmediate !== 0) return undefined;
    await lockWaiting(tx, sub);
    const sold = { ...afterDeferred(sub, update), pendingUpdateId: '', modifyTime: tx.now };
    // the change was priced when it was submitted
    const after = await withPlannedPrices(tx, sold);
    const nothing: Replaced = { ahead: undefined, invoiceId: '', left: sub };
    const { ahead, invoiceId, left } = next ? await this.replace(tx, sub, after, next) : nothing;
    finish(tx, { ...update, invoiceId });
    const bound = await boundAfterChange(tx, left, after.discount, after);
    const changed = { ...after, carried: left.carried, discount: bound };
    tx.step(subscriptionAggregate, changed, 'subscription.updated');
    scheduleNotice(tx, changed);
    return { sub: changed, ahead };
  }

  /** Replaces the invoice of the next period, where it does not sell what the subscription sells from then on. */
  private async replace(tx: Tx, sub: Subscription, changed: Subscription, next: PeriodRow): Promise<Replaced> {
    const after = pricedFrom(changed, next.startAt);
    const kept: Replaced = { ahead: next, invoiceId: '', left: sub };
    if (next.state === 'paid') {
      const anew = await chargedAnew(tx, { sub, after }, next);
      return anew ? this.chargeAnew(tx, anew, { sub, after, next }) : kept;
    }
    if (!sellsPlan(next) || sells(after, (await nextLines(tx, next)).lines)) return kept;
    return { ahead: undefined, invoiceId: '', left: await this.effects.withdrawNext(tx, sub) };
  }

  private async chargeAnew(
    tx: Tx,
    { bill, ended, newPeriod }: ChargedAnew,
    { sub, after, next }: { sub: Subscription; after: Subscription; next: PeriodRow },
  ): Promise<Replaced> {
    const { subscriptionId, userId } = sub;
    const [gateway, sellerCountryCode, { firstInvoiceDays }] = await Promise.all([
      findGateway(tx, after.gatewayId),
      sellerCountry(tx),
      settingsOf(tx),
    ]);
    const composed = await compose(tx, bill, { sellerCountryCode, gateway });
    const deadline = daysAfter(tx.now, firstInvoiceDays);
    const { view } = await this.maker.make(tx, composed, {
      status: 'open',
      createFrom: createFrom.autoRenew,
      deadline,
    });
    await endLines(
      tx,
      ended.map(({ lineId }) => lineId),
      next.startAt,
    );
    const { invoiceId } = view;
    if (!newPeriod) return { ahead: next, invoiceId, left: sub };
    await voidPeriod(tx, next);
    const { start: startAt, end: endAt } = newPeriod;
    const row = { subscriptionId, userId, kind: 'cycle', startAt, endAt, invoiceId, state: 'paid' } as const;
    return { ahead: await addPeriod(tx, row), invoiceId, left: sub };
  }
}

/** A subscription after its deferred change, with its next period where that has an invoice. */
export interface Deferred {
  sub: Subscription;
  ahead: PeriodRow | undefined;
}

/** The next period, the document that charges it anew, '' for none, and the subscription with what came back to it. */
interface Replaced {
  ahead: PeriodRow | undefined;
  invoiceId: string;
  left: Subscription;
}
