import { Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { type Gateway, WIRE_TRANSFER } from '../../gateways/domain/gateway.js';
import { getGateway } from '../../gateways/lookup.js';
import { receipt } from '../../pricing/settle.js';
import { receiveTransfer, withoutPayment } from '../domain/collection.js';
import { assertOpen } from '../domain/invoice.js';
import type { Payment } from '../domain/payment.js';
import { InvoiceEndings } from '../endings.js';
import { InvoiceOwners } from '../owners.js';
import { settleReceipt } from '../receipts.js';
import type { InvoiceState } from '../state.js';
import { payments } from '../tables.js';

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
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
  ) {}

  /**
   * The user said that the transfer for an open invoice was sent; nothing changes at a repeat. Throws Rejected
   * `invoice_not_open`, `payment_not_open` or `gateway_not_wire_transfer`. The invoice is locked by its owner.
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
    await this.owners.tellUnderWay(tx, invoice, true);
  }

  /**
   * The payment succeeds with what arrived, and the invoice is paid. More than due is a surplus; less, where that is
   * accepted, a credit note of bank charges, for which no money moves. Throws what `receipt` and `receiveTransfer` do.
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
    const arrived = receipt(payment.totalAmount, amount, transfer.acceptShort);
    await settleReceipt(tx, this.endings, paid, received, arrived, 'MarkWireTransferSuccess');
  }
}
