import { Controller } from '@nestjs/common';
import { type In, pendingUpdateEffect, previewChange } from '@recur/contracts';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { ownMerchant } from '../../customers/merchants.js';
import * as discounts from '../../discounts/redemption.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import {
  discountRefusal,
  explanationOfPreview,
  isBelowMinimum,
  previewOf,
  taxReasonOf,
} from '../../invoices/issuing/preview.js';
import { Arrears } from '../arrears.js';
import { lockReserved } from '../codes.js';
import { freeSecondsFrom, withDeferredChange, withNewAnchor, withNewPeriod } from '../domain/apply-change.js';
import { endsWithPeriod, periodOf } from '../domain/renewal.js';
import { entered, pricedFrom } from '../domain/repricing.js';
import type { Subscription } from '../domain/subscription.js';
import { lockNamed } from '../find.js';
import { nextInvoiceMoment } from '../schedule.js';
import { subscriptionAggregate } from '../views.js';
import { boundAfter, type ChangeQuote, itemsToDefer } from './discount.js';
import { newPeriodCharge } from './next-period.js';
import { PlanChanges } from './plan-changes.js';
import { quoteChange } from './quote.js';
import { firstToBill, upcomingInvoiceOf } from './upcoming-invoice.js';

/** subscription/update_preview: what update_submit would bill, by the same quote. */
@Controller()
export class ChangePreview {
  constructor(
    private readonly db: Db,
    private readonly arrears: Arrears,
    private readonly planChanges: PlanChanges,
  ) {}

  @Handle(previewChange)
  async preview(input: In<typeof previewChange>, caller: Caller) {
    return previewChange.output.parse(await this.explained(input, caller));
  }

  /** The preview, how each of its amounts comes about, and when the change takes effect. */
  explained(input: In<typeof previewChange>, caller: Caller) {
    // writes nothing; a transaction may ask other services for copies that are missing
    return undone(this.db, caller, async tx => {
      const { subscriptionId } = input;
      const named = await tx.get(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const sub = named.pendingUpdateId === '' ? named : await this.superseded(tx, subscriptionId);
      return this.quoted(tx, sub, input, caller);
    });
  }

  /** The subscription once the change that it waits for has given way, as a submit leaves it. */
  private async superseded(tx: Tx, subscriptionId: string): Promise<Subscription> {
    const named = await lockNamed(tx, { subscriptionId, userId: 0 });
    await lockReserved(tx, named);
    return this.planChanges.supersede(tx, named);
  }

  private async quoted(tx: Tx, sub: Subscription, input: In<typeof previewChange>, caller: Caller) {
    const quoted = await quoteChange(tx, this.arrears, sub, { input, caller });
    const { calculated, at, decision } = quoted;
    const isNow = decision.effect === 'now';
    const [invoice, nextPeriodInvoice, discount] = await Promise.all([
      previewOf(tx, calculated),
      this.next(tx, quoted),
      input.discountCode === '' ? null : discounts.shownDiscount(tx, input.discountCode),
    ]);
    const { currency, discountAmount, originAmount, totalAmount } = invoice;
    return {
      currency,
      discount,
      discountAmount,
      invoice,
      nextPeriodInvoice,
      originAmount,
      totalAmount,
      applyPromoCredit: calculated.promo !== undefined,
      ...discountRefusal(calculated),
      explanation: explanationOfPreview(calculated),
      effectImmediate: pendingUpdateEffect[decision.effect],
      effectTime: isNow ? at : sub.currentPeriodEnd,
      prorationDate: at,
      taxReason: taxReasonOf(calculated),
    };
  }

  /** The next invoice that is made after the change; null where there is none. */
  private async next(tx: Tx, quoted: ChangeQuote) {
    const { sub, after, decision, mode, periods, newPeriod, gateway, ended, calculated } = quoted;
    if (mode === 'incomplete' || endsWithPeriod(sub)) return null;
    const discount = await boundAfter(tx, quoted);
    const { taxPercentage, vatNumber, countryCode } = after;
    const taxed = { ...sub, taxPercentage, vatNumber, countryCode };
    const changed =
      decision.effect === 'periodEnd' ? withDeferredChange(taxed, quoted.update) : withNewAnchor(sub, after, periods);
    const free = newPeriod ? freeSecondsFrom(periods, newPeriod.start) : 0;
    const carried = [...quoted.kept, ...((await isBelowMinimum(tx, calculated)) ? itemsToDefer(calculated) : [])];
    const then = { ...(newPeriod ? withNewPeriod(changed, newPeriod, free) : changed), discount, carried };
    const { countryCode: sellerCountryCode } = await ownMerchant(tx);
    const paid = newPeriod
      ? undefined
      : periods.find(row => row.startAt === sub.currentPeriodEnd && row.state === 'paid');
    const charged = paid && { sub, after: pricedFrom(then, paid.startAt) };
    const charge = charged && decision.effect === 'periodEnd' && (await newPeriodCharge(tx, charged, paid));
    if (charge) return previewOf(tx, await calculateInvoice(tx, charge.input, { sellerCountryCode, gateway }));
    const last = paid ? entered(then, periodOf(then, paid)) : then;
    if (paid && endsWithPeriod(last)) return null;
    const billed = await this.arrears.items(tx, sub, sub.currentPeriodEnd);
    // usage that the change bills is not billed again
    const usage = newPeriod
      ? []
      : billed.filter(({ metricCharge }) => !ended.metricIds?.has(metricCharge?.metricId ?? 0));
    const open = periods.find(row => row.startAt === sub.currentPeriodEnd && row.state === 'open');
    const known = { usage, replaces: open?.invoiceId ?? '' };
    const first = upcomingInvoiceOf(last, undefined, nextInvoiceMoment(tx, last), known);
    const next = await firstToBill(first, async later =>
      upcomingInvoiceOf(later, undefined, nextInvoiceMoment(tx, later)),
    );
    if (!next) return null;
    const isOfChange = decision.effect === 'periodEnd' && !paid && next === first;
    const input = isOfChange ? { ...next.input, name: 'SubscriptionDowngrade' } : next.input;
    return previewOf(tx, await calculateInvoice(tx, input, { sellerCountryCode, gateway }));
  }
}

/** Ends a transaction with what it found out. */
class PreviewResult<T> extends Error {
  constructor(readonly answer: T) {
    super('what a preview has done is undone');
  }
}

/** Runs a transaction and undoes it: what it would lead to is known, and nothing has changed. */
async function undone<T>(db: Db, caller: Caller, run: (tx: Tx) => Promise<T>): Promise<T> {
  const found = await db
    .write(caller, async (tx): Promise<never> => {
      throw new PreviewResult(await run(tx));
    })
    .catch((error: unknown) => error);
  if (found instanceof PreviewResult) return found.answer as T;
  throw found;
}
