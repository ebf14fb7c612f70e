import { Controller } from '@nestjs/common';
import { type In, previewChange } from '@recur/contracts';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { ownMerchant } from '../../customers/merchants.js';
import * as discounts from '../../discounts/verbs.js';
import { compose } from '../../invoicing/composed/compose.js';
import { previewOf } from '../../invoicing/composed/preview.js';
import { subscriptionAggregate } from '../aggregate.js';
import { deferred, restarted } from '../domain/apply-change.js';
import { cycleBill } from '../domain/bill.js';
import { nextPeriod } from '../domain/subscription.js';
import type { ChangeQuote } from './change-quote.js';
import { boundAfter } from './discount.js';
import { quoteChange } from './quote.js';

/** subscription/update_preview: what update_submit would bill, by the same quote. */
@Controller()
export class ChangePreview {
  constructor(private readonly db: Db) {}

  @Handle(previewChange)
  preview(input: In<typeof previewChange>, caller: Caller) {
    // writes nothing; a transaction may ask other services for copies that are missing
    return this.db.write(caller, async tx => {
      const sub = await tx.get(subscriptionAggregate, input.subscriptionId, 'subscription_not_found');
      const quoted = await quoteChange(tx, sub, input, caller);
      const { composed, at } = quoted;
      const [invoice, nextPeriodInvoice, discount] = await Promise.all([
        previewOf(tx, composed),
        this.next(tx, quoted),
        input.discountCode === '' ? null : discounts.shown(tx, input.discountCode),
      ]);
      const { currency, discountAmount, originAmount, totalAmount } = invoice;
      return {
        ...{ currency, discount, discountAmount, invoice, nextPeriodInvoice, originAmount, totalAmount },
        applyPromoCredit: composed.promo !== undefined,
        discountMessage: composed.discountProblem,
        prorationDate: at,
        taxReason: composed.rates[0]?.reason ?? '',
      };
    });
  }

  /** The invoice of the next period after the change; null where there is none. */
  private async next(tx: Tx, quoted: ChangeQuote) {
    const { sub, after, plan, mode, newPeriod, gateway } = quoted;
    if (mode === 'incomplete' || sub.cancelAtPeriodEnd) return null;
    const discount = await boundAfter(tx, quoted);
    const changed = plan.effect === 'periodEnd' ? deferred(sub, quoted.update) : after;
    const then = { ...(newPeriod ? restarted(changed, newPeriod) : changed), discount };
    const period = nextPeriod(then);
    const bill = cycleBill(then, period, [], period.start);
    const { countryCode: sellerCountryCode } = await ownMerchant(tx);
    const named = plan.effect === 'periodEnd' ? { ...bill, name: 'SubscriptionDowngrade' } : bill;
    return previewOf(tx, await compose(tx, named, { sellerCountryCode, gateway }));
  }
}
