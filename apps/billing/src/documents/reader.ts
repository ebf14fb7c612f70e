import { Injectable } from '@nestjs/common';
import { emptyOf, GatewayBank, type Invoice, InvoiceMerchant, type User } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { GatewayAnswers } from '../gateways/answers.js';
import { WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { findGateway } from '../gateways/lookup.js';
import { finishedInvoice } from '../invoicing/lists/details.js';
import type { DocumentContent } from './content.js';
import { documentOf } from './from-invoice.js';

const emptyBank = emptyOf(GatewayBank);
const emptyMerchant = emptyOf(InvoiceMerchant);

/** An invoice to be printed or mailed. */
export interface FinishedInvoice {
  invoice: Invoice;
  kind: DocumentContent['kind'];
  seller: InvoiceMerchant;
  buyer: User | null;
}

/** Reads what documents and e-mails of an invoice say. */
@Injectable()
export class DocumentReader {
  constructor(private readonly gateways: GatewayAnswers) {}

  /** Throws Rejected `invoice_not_found` or `invoice_is_draft`. */
  async invoiceOf(reader: Reader, invoiceId: string): Promise<FinishedInvoice> {
    const invoice = await finishedInvoice(reader, invoiceId);
    return {
      invoice,
      kind: 'invoice',
      seller: invoice.merchant ?? emptyMerchant,
      buyer: invoice.userSnapshot ?? invoice.userAccount,
    };
  }

  /** The content of an invoice's PDF. Throws Rejected `invoice_not_found`, for a draft too. */
  async contentOf(reader: Reader, invoiceId: string): Promise<DocumentContent> {
    const { invoice, ...parties } = await this.invoiceOf(reader, invoiceId).catch(hidden);
    const gateway = await findGateway(reader, invoice.gatewayId);
    const bank = gateway?.gatewayName === WIRE_TRANSFER ? this.gateways.bank(gateway) : null;
    return documentOf(invoice, { ...parties, bank: bank && { ...emptyBank, ...bank } });
  }
}

function hidden(error: unknown): never {
  if (error instanceof Rejected && error.slug === 'invoice_is_draft') throw new Rejected('invoice_not_found');
  throw error;
}
