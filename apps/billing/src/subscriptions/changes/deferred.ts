import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import { boundary } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/lookup.js';
import { invoiceAggregate } from '../../invoicing/aggregates.js';
import { compose } from '../../invoicing/composed/compose.js';
import { InvoiceMaker } from '../../invoicing/composed/make.js';
import { endLines, soldLines } from '../../invoicing/composed/sold-lines.js';
import type { Stretch } from '../../pricing/proration.js';
import { subscriptionAggregate } from '../aggregate.js';
import { changeBill, deferred, sells, termsOf } from '../domain/apply-change.js';
import { changeLines } from '../domain/change-bill.js';
import { intervalOf } from '../domain/items.js';
import type { PeriodRow } from '../domain/periods.js';
import { planOf, type Subscription } from '../domain/subscription.js';
import { addPeriod, voidPeriod } from '../periods.js';
import { settingsOf } from '../settings.js';
import { pendingUpdateAggregate } from './aggregate.js';
import { boundTerms } from './discount.js';
import { ChangeEffects, finish } from './effects.js';
import { updateTermsOf } from './update-terms.js';

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
    const { discount, gatewayId, manualPayment, taxPercentage } = updateTermsOf(update);
    const after: Subscription = {
      ...deferred(sub, update),
      ...{ discount, taxPercentage, pendingUpdateId: '', modifyTime: tx.now },
      gatewayId: gatewayId || sub.gatewayId,
      manualPayment: manualPayment || sub.manualPayment,
    };
    const { ahead, invoiceId } = next ? await this.replace(tx, sub, after, next) : { invoiceId: '' };
    finish(tx, { ...update, invoiceId });
    tx.step(subscriptionAggregate, after, 'subscription.updated');
    return { sub: after, ahead };
  }

  /** Replaces the invoice of the next period, where it does not sell what the subscription sells from then on. */
  private async replace(tx: Tx, sub: Subscription, after: Subscription, next: PeriodRow): Promise<Replaced> {
    const invoice = next.invoiceId ? await tx.get(invoiceAggregate, next.invoiceId, 'invoice_not_found') : undefined;
    if (!invoice || sells(after, invoice.lines)) return { ahead: next, invoiceId: '' };
    if (next.state === 'paid') return this.chargeAnew(tx, sub, after, next);
    await this.effects.withdrawNext(tx, sub);
    return { ahead: undefined, invoiceId: '' };
  }

  private async chargeAnew(tx: Tx, sub: Subscription, after: Subscription, next: PeriodRow): Promise<Replaced> {
    const { subscriptionId, userId } = sub;
    const at = next.startAt;
    const newPeriod = newPeriodOf(after, next);
    const sold = await soldLines(tx, subscriptionId, at);
    const { items, ended, shares } = changeLines({
      ...{ from: termsOf(sub), to: termsOf(after), at, sold },
      periods: [{ start: at, end: next.endAt, full: { start: at, end: next.endAt } }],
      ...(newPeriod && { newPeriod }),
    });
    const carriesDiscount = sold.some(({ discount }) => discount > 0n);
    const discount = await boundTerms(tx, { sub, after }, { items, shares, carriesDiscount });
    const change = { direction: 'downgrade', at, periodEnd: newPeriod?.end ?? next.endAt, items, discount } as const;
    const [gateway, sellerCountryCode, { firstInvoiceDays }] = await Promise.all([
      findGateway(tx, after.gatewayId),
      sellerCountry(tx),
      settingsOf(tx),
    ]);
    const composed = await compose(tx, changeBill(after, change), { sellerCountryCode, gateway });
    const deadline = tx.now + firstInvoiceDays * SECONDS_PER_DAY;
    const { view } = await this.maker.make(tx, composed, {
      status: 'open',
      createFrom: createFrom.autoRenew,
      deadline,
    });
    await endLines(
      tx,
      ended.map(({ lineId }) => lineId),
      at,
    );
    const { invoiceId } = view;
    if (!newPeriod) return { ahead: next, invoiceId };
    await voidPeriod(tx, next);
    const { start: startAt, end: endAt } = newPeriod;
    const row = { subscriptionId, userId, kind: 'cycle', startAt, endAt, invoiceId, state: 'paid' } as const;
    return { ahead: await addPeriod(tx, row), invoiceId };
  }
}

/** A subscription after its deferred change, with its next period where that has an invoice. */
export interface Deferred {
  sub: Subscription;
  ahead: PeriodRow | undefined;
}

/** The next period, and the document that charges it anew; '' for none. */
interface Replaced {
  ahead: PeriodRow | undefined;
  invoiceId: string;
}

/** For another interval, the period that begins in place of the next one. */
function newPeriodOf(after: Subscription, { startAt: start, endAt }: PeriodRow): Stretch | undefined {
  const end = boundary(after.anchor, after.periodNo + 1, intervalOf(planOf(after)), after.timeZone);
  return end === endAt ? undefined : { start, end };
}

const SECONDS_PER_DAY = 86_400;
