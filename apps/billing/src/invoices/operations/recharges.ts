import { Controller } from '@nestjs/common';
import { bizType, createFrom, type In, newCreditRecharge } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { addRecharge, rechargeable, rechargeTarget } from '../../credits/recharges.js';
import { creditAccountView, creditRechargeView } from '../../credits/views.js';
import { assertBuyer, findUser } from '../../customers/users.js';
import { usableGateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/gateway-index.js';
import { gatewayView } from '../../gateways/views.js';
import type { TaxRate } from '../../pricing/tax.js';
import { saveDraft } from '../issuing/draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from '../issuing/finalize.js';
import { invoices } from '../tables.js';
import { paymentView } from '../views.js';

/** Name of an invoice that sells credit, where the merchant gives none. */
const NAME = 'Credit recharge';

/** Credit is money: tax is due on what is bought with it. */
const rechargeRate: TaxRate = {
  category: 'O',
  ratePpm: 0,
  jurisdiction: '',
  source: 'credit',
  reason: 'Credit is taxed where it is spent',
};

/** credit/new_credit_recharge: an open invoice that sells main credit. */
@Controller()
export class Recharges {
  constructor(
    private readonly db: Db,
    private readonly finalizer: InvoiceFinalizer,
  ) {}

  @Handle(newCreditRecharge)
  create(input: In<typeof newCreditRecharge>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { userId, currency } = await rechargeTarget(tx, input);
      const [found, all, id] = await Promise.all([findUser(tx, { userId }), allGateways(tx), tx.nextId(invoices)]);
      const user = assertBuyer(tx, { userId }, found);
      const gateway = usableGateway(all, input.gatewayId);
      const { gatewayId } = gateway;
      const account = await rechargeable(tx, { userId, currency });
      const amount = BigInt(input.rechargeAmount);
      const [name, description] = [input.name || NAME, input.description];
      const line = { planId: 0, name, description, quantity: 1, unitAmountExcludingTax: amount };
      const order = { id, userId, currency, taxBps: 0, rates: [rechargeRate], invoiceName: name, lines: [line] };
      const sold = { ...order, bizType: bizType.creditRecharge, createFrom: createFrom.api };
      const { draft } = saveDraft(tx, sold, gateway, new Map());
      const finalization = { details: { checkout: rechargeCheckout(input) } };
      const { view, payment } = await this.finalizer.finalize(tx, draft, DAYS_UNTIL_DUE, finalization);
      if (!payment) throw new Error(`invoice ${draft.invoiceId} of ${amount} was finalized without a payment`);
      const { invoiceId, paymentId } = payment;
      const recharge = await addRecharge(tx, account, { amount, gatewayId, invoiceId, paymentId, name, description });
      tx.log(`CreditRecharge(${recharge.rechargeId})`, 'New', { userId, invoiceId });
      return {
        creditAccount: creditAccountView(account),
        creditRecharge: creditRechargeView(recharge),
        gateway: gatewayView(gateway),
        invoice: view,
        link: view.link,
        merchant: view.merchant,
        paid: false,
        payment: paymentView(payment),
        user: user.data,
      };
    });
  }
}

const rechargeCheckout = ({ returnUrl, cancelUrl }: In<typeof newCreditRecharge>) => ({
  gatewayPaymentType: '',
  paymentUIMode: '',
  gasPayer: '' as const,
  returnUrl,
  cancelUrl,
  metadata: {},
});
