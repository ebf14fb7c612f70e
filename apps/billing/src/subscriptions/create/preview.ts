import { Controller } from '@nestjs/common';
import { type In, previewSubscription, type ValidResult } from '@recur/contracts';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertBuyer, findUser } from '../../customers/users.js';
import * as discounts from '../../discounts/redemption.js';
import { gatewayView } from '../../gateways/views.js';
import { discountRefusal, explanationOfPreview, previewOf, taxReasonOf } from '../../invoices/issuing/preview.js';
import { countryName } from '../../tax/countries.js';
import { isLive } from '../domain/subscription.js';
import { subscriptions } from '../tables.js';
import { addonParamsOf } from '../views.js';
import { numberAnswer, type Quote, quote, subscriberKey } from './quote.js';

type Input = In<typeof previewSubscription>;

/** subscription/create_preview. */
@Controller()
export class CreatePreview {
  constructor(private readonly db: Db) {}

  @Handle(previewSubscription)
  async preview(input: Input, caller: Caller) {
    return previewSubscription.output.parse(await this.explained(input, caller));
  }

  /** The preview, and how each of its amounts comes about. */
  explained(input: Input, caller: Caller) {
    // writes nothing; a transaction may ask other services for copies that are missing
    return this.db.write(caller, async tx => {
      const key = subscriberKey(input);
      const isNamed = key.userId !== undefined || key.externalUserId !== '' || key.email !== '';
      const found = isNamed ? await findUser(tx, key) : undefined;
      // a user who is named by e-mail only may be made by the submit
      const user = key.userId === undefined && !key.externalUserId ? found : assertBuyer(tx, key, found);
      const full = { ...input, ...notGiven };
      const quoted = await quote(tx, full, user, caller, { id: 0, subscriptionId: '' });
      const { sub, calculated } = quoted;
      const [invoice, discount, alive] = await Promise.all([
        previewOf(tx, calculated),
        input.discountCode === '' ? null : discounts.shownDiscount(tx, input.discountCode),
        liveSubscription(tx, quoted),
      ]);
      const { originAmount, discountAmount, taxAmount, taxPercentage, totalAmount, totalAmountExcludingTax } = invoice;
      return {
        invoice,
        discount,
        originAmount,
        discountAmount,
        taxAmount,
        taxPercentage,
        totalAmount,
        addonParams: addonParamsOf(sub),
        addons: sub.planSnapshot.addons,
        applyPromoCredit: calculated.promo !== undefined,
        currency: sub.currency,
        quantity: sub.quantity,
        plan: sub.planSnapshot.plan,
        trialEnd: sub.trialEnd,
        ...discountRefusal(calculated),
        explanation: explanationOfPreview(calculated),
        email: user?.data.email ?? key.email ?? '',
        gateway: quoted.gateway ? gatewayView(quoted.gateway) : null,
        otherActiveSubscriptionId: alive,
        otherPendingCryptoSubscription: null,
        recurringDiscountCode: calculated.discount?.recurring ? calculated.discount.code : '',
        subscriptionAmountExcludingTax: totalAmountExcludingTax,
        taxReason: taxReasonOf(calculated),
        timeZone: sub.timeZone,
        userId: user?.id ?? 0,
        vatCountryCode: calculated.tax.buyer.countryCode,
        vatCountryName: countryName(calculated.tax.buyer.countryCode),
        ...(await vatNumberShown(tx, input.vatNumber || (user?.data.vATNumber ?? ''))),
      };
    });
  }
}

/** Fields that only create_submit takes. */
const notGiven = { confirmCurrency: '', paymentUIMode: '', splitPayment: false };

/** The live subscription of the user to the product; '' for none. */
async function liveSubscription(tx: Tx, { sub: { userId, productId } }: Quote): Promise<string> {
  if (userId === 0) return '';
  const others = await tx.all(subscriptions, { userId, productId });
  return others.find(({ status }) => isLive(status))?.subscriptionId ?? '';
}

async function vatNumberShown(
  tx: Tx,
  vatNumber: string,
): Promise<{ vatNumber: string; vatNumberValidate: ValidResult | null; vatNumberValidateMessage: string }> {
  const vatNumberValidate = vatNumber === '' ? null : await numberAnswer(tx, vatNumber);
  return { vatNumber, vatNumberValidate, vatNumberValidateMessage: vatNumberValidate?.validateMessage ?? '' };
}
