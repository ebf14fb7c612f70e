import { Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { type Gateway, WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { getGateway } from '../gateways/gateway-index.js';
import { InvoiceClosing } from '../invoices/close.js';
import { issueBankCharges } from '../invoices/crediting/credit-notes.js';
import { saveCreditedLines } from '../invoices/crediting/creditable-lines.js';
import { receiveTransfer, withoutPayment } from '../invoices/domain/collection.js';
import { assertOpen } from '../invoices/domain/invoice.js';
import type { Payment } from '../invoices/domain/payment.js';
import { ledgerOf, withWaived } from '../invoices/domain/refund.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { payments } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { acceptUnderpayment, type LineShare } from '../pricing/refund.js';
import { type Receipt, reconcileAmount } from '../pricing/settle.js';
import { keepOverpayment } from '../refunds/overpayments.js';

/** A transfer that arrived at the merchant's bank; without an amount it is what was due. */
export interface Transfer {
  transferNumber: string;
  reason: string;
  amountReceived?: number | undefined;
  acceptShort: boolean;
}

/** Transfers that arrive for open invoices. */
@Injectable()
export class WireTransfers {
  constructor(
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  /**
   * The user said that the transfer for an open invoice was sent; nothing changes at a repeat. Throws Rejected
   * `invoice_not_open`, `payment_not_open` or `gateway_not_wire_transfer`. The invoice is locked after what it sells.
   */
  async markSent(tx: Tx, invoice: InvoiceState): Promise<void> {
    assertOpen(invoice);
    const { payment, invoiceId, userId } = invoice;
    if (!payment) throw withoutPayment(invoice, 'pay');
    const { gatewayName } = await getGateway(tx, payment.gatewayId);
    if (gatewayName !== WIRE_TRANSFER) throw new Rejected('gateway_not_wire_transfer');
    if (payment.announcedTime > 0) return;
    tx.save(payments, { ...payment, announcedTime: tx.now, modifyTime: tx.now });
    tx.log(`Payment(${payment.paymentId})`, 'MarkTransferSent', { invoiceId, userId });
    await this.outcomes.underWay(tx, invoice, true);
  }

  /**
   * The payment succeeds with what arrived, and the invoice is paid. More than due is a surplus; less, where that is
   * accepted, a credit note of bank charges, for which no money moves. Throws what `reconcileAmount` and `receiveTransfer` do.
   */
  async receive(
    tx: Tx,
    invoice: InvoiceState & { payment: Payment },
    gateway: Gateway,
    transfer: Transfer,
  ): Promise<void> {
    const { payment } = invoice;
    const { transferNumber: gatewayPaymentId, reason, amountReceived } = transfer;
    const amount = amountReceived === undefined ? payment.totalAmount : BigInt(amountReceived);
    const success = { gatewayPaymentId, reason, now: tx.now };
    const [received, paid] = receiveTransfer(payment, invoice, gateway, success);
    const arrived = reconcileAmount(payment.totalAmount, amount, transfer.acceptShort);
    await settleTransfer(tx, this.closing, paid, received, arrived, 'MarkWireTransferSuccess');
  }
}

/**
 * Records that an invoice is paid by what arrived for its payment, `received`. More than due is a surplus; less, a credit
 * note of bank charges, for which no money moves. `log` is the operation log's entry, about the invoice.
 */
export async function settleTransfer(
  tx: Tx,
  closing: InvoiceClosing,
  paid: InvoiceState,
  received: Payment,
  { overpayment, underpayment }: Receipt,
  log?: string,
): Promise<void> {
  const { totalAmount, gatewayPaymentId } = received;
  const collected = { ...received, paymentAmount: totalAmount - underpayment };
  const shares = underpayment > 0n ? sharesOfUnderpayment(paid, collected, underpayment) : [];
  const settled = { ...withWaived(paid, shares), surplus: paid.surplus + overpayment };
  if (underpayment > 0n) await saveCreditedLines(tx, settled);
  await closing.paid(tx, settled, collected, log);
  if (overpayment > 0n) await keepOverpayment(tx, collected, { gatewayPaymentId, amount: overpayment });
  if (underpayment > 0n) await issueBankCharges(tx, { ...settled, payment: collected }, shares);
}

function sharesOfUnderpayment(invoice: InvoiceState, payment: Payment, underpayment: bigint): LineShare[] {
  const [, shares] = acceptUnderpayment(ledgerOf(invoice, payment), underpayment);
  return shares;
}
