import { creditTransactionType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import * as credits from '../credits/spending.js';
import type { Payment } from '../invoices/domain/payment.js';
import { type PaymentSurplus, paymentSurpluses } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate } from '../invoices/views.js';

/** Money beyond what was due, as its payment's gateway reports it. */
export type Overpayment = Pick<PaymentSurplus, 'gatewayPaymentId' | 'amount'>;

/** Keeps a surplus beside its payment, and gives it to the main account. */
export async function keepOverpayment(
  tx: Tx,
  { merchantId, invoiceId, userId, currency, paymentId }: Payment,
  { gatewayPaymentId, amount }: Overpayment,
): Promise<void> {
  tx.save(paymentSurpluses, { merchantId, paymentId, gatewayPaymentId, invoiceId, amount, createTime: tx.now });
  const type = creditTransactionType.refund;
  const description = 'Payment beyond the amount due';
  await credits.addMain(tx, { userId, currency, amount, type, invoiceId, bizId: paymentId, description });
}

/**
 * Records money that a gateway reports for a payment that failed or was cancelled, or beside one that succeeded: payment
 * and invoice keep their state. A repeated report has no effect: returns false. The invoice and its payment are locked.
 */
export async function receiveOverpayment(
  tx: Tx,
  invoice: InvoiceState,
  payment: Payment,
  surplus: Overpayment,
): Promise<boolean> {
  const { paymentId } = payment;
  const known = await tx.find(paymentSurpluses, { paymentId, gatewayPaymentId: surplus.gatewayPaymentId });
  if (known) return false;
  tx.step(invoiceAggregate, { ...invoice, surplus: invoice.surplus + surplus.amount }, 'invoice.updated');
  await keepOverpayment(tx, payment, surplus);
  return true;
}
