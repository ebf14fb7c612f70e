import { Controller } from '@nestjs/common';
import {
  cancelInvoice,
  clearInvoicePayment,
  type In,
  type Invoice,
  invoiceDetail,
  markWireTransferSuccess,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { getGateway } from '../gateways/lookup.js';
import { invoiceAggregate, paymentAggregate } from './aggregates.js';
import { invoicesOf } from './details.js';
import * as collection from './domain/collection.js';
import * as domain from './domain/invoice.js';
import { invoices } from './tables.js';

/** Finished invoices. */
@Controller()
export class Invoices {
  constructor(private readonly db: Db) {}

  @Handle(invoiceDetail)
  detail({ invoiceId }: In<typeof invoiceDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const row = await reader.get(invoices, { invoiceId }, 'invoice_not_found');
      const [invoice] = await invoicesOf(reader, [row]);
      return { creditNotes: [], invoice: invoice as Invoice };
    });
  }

  @Handle(markWireTransferSuccess)
  receive({ invoiceId, transferNumber, reason }: In<typeof markWireTransferSuccess>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await tx.lock(invoiceAggregate, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      domain.assertOpen(invoice);
      const { payment } = invoice;
      if (!payment) throw collection.withoutPayment(invoice, 'pay');
      const gateway = await getGateway(tx, payment.gatewayId);
      if (gateway.gatewayName !== WIRE_TRANSFER) throw new Rejected('gateway_not_wire_transfer');
      const success = { gatewayPaymentId: transferNumber, reason, now: tx.now };
      const [received, paid] = collection.receiveTransfer(payment, invoice, gateway, success);
      tx.step(paymentAggregate, received, 'payment.success');
      tx.step(invoiceAggregate, { ...paid, payment: received }, 'invoice.paid', { log: 'MarkWireTransferSuccess' });
      return {};
    });
  }

  @Handle(clearInvoicePayment)
  clearPayment({ invoiceId }: In<typeof clearInvoicePayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await tx.lock(invoiceAggregate, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [cancelled, cleared] = collection.clearPayment(invoice, invoice.payment, tx.now);
      tx.step(paymentAggregate, cancelled, 'payment.cancelled');
      tx.step(invoiceAggregate, { ...cleared, payment: undefined }, 'invoice.updated', { log: 'ClearPayment' });
      return {};
    });
  }

  @Handle(cancelInvoice)
  cancel({ invoiceId }: In<typeof cancelInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await tx.lock(invoiceAggregate, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [stopped, cancelled] = collection.voidInvoice(invoice, invoice.payment, tx.now);
      if (stopped) tx.step(paymentAggregate, stopped, 'payment.cancelled');
      const payment = stopped ?? invoice.payment;
      tx.step(invoiceAggregate, { ...cancelled, payment }, 'invoice.cancelled', { log: 'Cancel' });
      return {};
    });
  }
}
