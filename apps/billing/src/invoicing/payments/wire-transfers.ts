import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { acceptShort, type LineShare } from '../../pricing/refund.js';
import { receipt } from '../../pricing/settle.js';
import { issueBankCharges } from '../credit-notes/issue.js';
import { receiveTransfer } from '../domain/collection.js';
import type { Payment } from '../domain/payment.js';
import { ledgerOf, withWaived } from '../domain/refund-ledger.js';
import { InvoiceEndings } from '../endings.js';
import { saveLines } from '../refunds/book.js';
import { keepSurplus } from '../refunds/surplus.js';
import type { InvoiceState } from '../state.js';

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
  constructor(private readonly endings: InvoiceEndings) {}

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
    const due = payment.totalAmount;
    const amount = amountReceived === undefined ? due : BigInt(amountReceived);
    const success = { gatewayPaymentId, reason, now: tx.now };
    const [received, paid] = receiveTransfer(payment, invoice, gateway, success);
    const { surplus, shortfall } = receipt(due, amount, transfer.acceptShort);
    const collected = { ...received, paymentAmount: due - shortfall };
    const shares = shortfall > 0n ? sharesOf(paid, collected, shortfall) : [];
    const settled = { ...withWaived(paid, shares), surplus: paid.surplus + surplus };
    if (shortfall > 0n) await saveLines(tx, settled);
    await this.endings.paid(tx, settled, collected, 'MarkWireTransferSuccess');
    if (surplus > 0n) await keepSurplus(tx, collected, { gatewayPaymentId, amount: surplus });
    if (shortfall > 0n) await issueBankCharges(tx, { ...settled, payment: collected }, shares);
  }
}

function sharesOf(invoice: InvoiceState, payment: Payment, shortfall: bigint): LineShare[] {
  const [, shares] = acceptShort(ledgerOf(invoice, payment), shortfall);
  return shares;
}
