import { Controller } from '@nestjs/common';
import {
  cancelInvoice,
  clearInvoicePayment,
  type In,
  type Invoice,
  invoiceDetail,
  markWireTransferSuccess,
  revokeDocumentLinks,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { getGateway } from '../gateways/gateway-index.js';
import { InvoiceClosing } from '../invoices/close.js';
import { DocumentLinks } from '../invoices/document-links.js';
import * as collection from '../invoices/domain/collection.js';
import * as domain from '../invoices/domain/invoice.js';
import { invoicesOf, invoiceWithNotes } from '../invoices/lists/details.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { invoices } from '../invoices/tables.js';
import { invoiceAggregate } from '../invoices/views.js';
import { WireTransfers } from './wire-transfers.js';

/** Finished invoices. */
@Controller()
export class Invoices {
  constructor(
    private readonly db: Db,
    private readonly closing: InvoiceClosing,
    private readonly transfers: WireTransfers,
    private readonly outcomes: InvoiceOutcomes,
    private readonly links: DocumentLinks,
  ) {}

  @Handle(invoiceDetail)
  detail({ invoiceId }: In<typeof invoiceDetail>, caller: Caller) {
    return this.db.read(caller, reader => invoiceWithNotes(reader, invoiceId));
  }

  @Handle(markWireTransferSuccess)
  receive(input: In<typeof markWireTransferSuccess>, caller: Caller) {
    return this.db.writeJoined(caller, markWireTransferSuccess.name, async tx => {
      const invoice = await this.outcomes.lock(tx, openWith(input.invoiceId), 'invoice_not_found');
      domain.assertOpen(invoice);
      const { payment } = invoice;
      if (!payment) throw collection.withoutPayment(invoice, 'pay');
      const gateway = await getGateway(tx, payment.gatewayId);
      if (gateway.gatewayName !== WIRE_TRANSFER) throw new Rejected('gateway_not_wire_transfer');
      await this.transfers.receive(tx, { ...invoice, payment }, gateway, input);
      return {};
    });
  }

  @Handle(clearInvoicePayment)
  clearPayment({ invoiceId }: In<typeof clearInvoicePayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await this.outcomes.lock(tx, openWith(invoiceId), 'invoice_not_found');
      const [cancelled, cleared] = collection.clearPayment(invoice, invoice.payment, tx.now);
      this.closing.stopped(tx, cancelled);
      tx.step(invoiceAggregate, { ...cleared, payment: undefined }, 'invoice.updated', { log: 'ClearPayment' });
      await this.outcomes.underWay(tx, { ...cleared, payment: undefined }, false);
      return {};
    });
  }

  @Handle(revokeDocumentLinks)
  revokeLinks({ invoiceId }: In<typeof revokeDocumentLinks>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      if (row.pdfLink === '') throw new Rejected('invoice_is_draft');
      const keyed = { ...row, ...this.links.keyed(row.merchantId, invoiceId) };
      tx.save(invoices, keyed);
      tx.log(`Invoice(${invoiceId})`, 'RevokeDocumentLinks', { invoiceId, userId: row.userId });
      const [invoice] = await invoicesOf(tx, [keyed]);
      return { invoice: invoice as Invoice };
    });
  }

  @Handle(cancelInvoice)
  cancel({ invoiceId }: In<typeof cancelInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await this.outcomes.lock(tx, openWith(invoiceId), 'invoice_not_found');
      await this.closing.cancel(tx, invoice, 'Cancel');
      return {};
    });
  }
}

/** An invoice, no credit note, that was not deleted. */
const openWith = (invoiceId: string) => ({ invoiceId, kind: 'invoice' as const, deletedTime: 0 });
