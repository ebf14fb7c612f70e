import * as contract from '@recur/contracts';
import { aggregate, type EventSource, type Tx } from '@recur/platform';
import type { Mismatch } from '../invoices/domain/charge.js';
import type { Payment } from '../invoices/domain/payment.js';
import { payments } from '../invoices/payment-tables.js';

/** Reports of money that fit nothing are events of their payment, and numbered with its own. */
const reportAggregate: EventSource<'payment.report.mismatch', Payment, Payment, contract.PaymentReportMismatch> =
  aggregate({
    name: 'paymentReport',
    title: 'Payment',
    events: contract.events,
    table: payments,
    key: 'paymentId',
  });

/** Money as a gateway reports it, and as it was expected. */
export interface Misreported {
  about: 'charge' | 'refund' | 'dispute';
  reason: Mismatch;
  gatewayId: number;
  /** The gateway's own id of the charge or refund. */
  reference: string;
  /** Minor units of `currency`, as reported. */
  amount: bigint;
  currency: string;
  /** In the payment's currency. */
  expected: bigint;
  /** The refund that is reported; '' for charges and disputes. */
  refundId: string;
}

const told = 'select 1 from gateway_facts where merchant_id = $1 and gateway_id = $2 and fact_id = $3';
const insertMismatch = `insert into gateway_facts (merchant_id, gateway_id, fact_id, received_at)
  values ($1, $2, $3, extract(epoch from now())::bigint)`;

/**
 * Has a person look at a report that fits nothing: an event, and the operation log. The payment keeps its state. False for
 * a report that was told before, by whichever callback, answer or inquiry. The payment is locked after its invoice.
 */
export async function tellMismatch(
  tx: Tx,
  payment: Payment,
  report: Misreported,
  /** False where the command has its log entry already. */
  isLogged = true,
): Promise<boolean> {
  const { about, reason, gatewayId, reference, amount, currency, expected, refundId } = report;
  const { merchantId, paymentId, invoiceId, userId } = payment;
  const factId = ['mismatch', about, refundId || paymentId, reference, amount, currency].join(' ');
  if ((await tx.query(told, [merchantId, gatewayId, factId])).length > 0) return false;
  await tx.run(insertMismatch, [merchantId, gatewayId, factId]);
  tx.emit(reportAggregate, payment, 'payment.report.mismatch', {
    merchantId,
    paymentId,
    refundId,
    invoiceId,
    userId,
    about,
    reason,
    reference,
    updateTime: tx.now,
    gatewayId,
    amount: Number(amount),
    currency,
    expectedGatewayId: payment.gatewayId,
    expectedAmount: Number(expected),
    expectedCurrency: payment.currency,
  });
  const content = `Report does not match by ${reason}: ${about} ${reference} of ${amount} ${currency}, gateway ${gatewayId}`;
  if (isLogged) tx.log(`Payment(${paymentId})`, content, { invoiceId, userId });
  return true;
}
