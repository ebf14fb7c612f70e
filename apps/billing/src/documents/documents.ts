import { Controller, Injectable } from '@nestjs/common';
import { fetchDocument, type In, type Invoice, InvoiceMerchant, type User } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { emptyMerchant } from '../customers/merchants.js';
import { GatewayCredentials } from '../gateways/credentials.js';
import { WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { findGateway } from '../gateways/gateway-index.js';
import { bankView } from '../gateways/views.js';
import { DocumentLinks } from '../invoices/document-links.js';
import type { TaxEntry } from '../invoices/domain/document-data.js';
import { finishedDocument } from '../invoices/lists/details.js';
import type { ContentTax, DocumentContent } from './content.js';
import { documentContent } from './from-invoice.js';
import { Logos, type Printed } from './logos.js';
import { DocumentRenderer } from './renderer.js';

/** Most bytes of a PDF that fit into one message as base64. */
const limits = { bytes: 2_500_000 } as const;

/** Reads what documents and e-mails of an invoice say. */
@Injectable()
export class DocumentReader {
  constructor(private readonly gateways: GatewayCredentials) {}

  /** Throws Rejected `invoice_not_found` or `invoice_is_draft`. */
  async invoiceOf(reader: Reader, invoiceId: string): Promise<FinishedDocument> {
    const { row, invoice } = await finishedDocument(reader, invoiceId);
    return {
      invoice,
      kind: row.kind,
      seller: row.seller ?? emptyMerchant,
      buyer: row.buyer ?? invoice.userAccount,
      ...(row.taxes.length > 0 && { taxes: row.taxes.map(printedTax) }),
    };
  }

  /** The content of a PDF, but for its logo. Throws Rejected `invoice_not_found`, for a draft too. */
  async contentOf(reader: Reader, invoiceId: string): Promise<Printed> {
    const { invoice, ...parties } = await this.invoiceOf(reader, invoiceId).catch(hidden);
    const gateway = await findGateway(reader, invoice.gatewayId);
    const bank = gateway?.gatewayName === WIRE_TRANSFER ? this.gateways.bank(gateway) : null;
    const content = documentContent(invoice, {
      ...parties,
      bank: bank && bankView(bank),
      originalNumber: invoice.originalPaymentInvoice?.number ?? '',
    });
    return { content, logoUrl: parties.seller.companyLogo };
  }
}

@Controller()
export class DocumentFiles {
  constructor(
    private readonly db: Db,
    private readonly links: DocumentLinks,
    private readonly reader: DocumentReader,
    private readonly logos: Logos,
    private readonly renderer: DocumentRenderer,
  ) {}

  /** The PDF behind a link. A wrong one, and one that is over, get what an unknown invoice gets. */
  @Handle(fetchDocument)
  async fetch({ merchantId, invoiceId, signature }: In<typeof fetchDocument>, caller: Caller) {
    const as = { ...caller, merchantId };
    const printed = await this.db.read(as, async reader => {
      await this.links.require(reader, invoiceId, signature);
      return this.reader.contentOf(reader, invoiceId);
    });
    const content = await this.logos.addedTo(printed, as);
    const bytes = await this.renderer.render(merchantId, content);
    if (bytes.length > limits.bytes) throw new Rejected('answer_too_large');
    return {
      fileName: `${content.number || invoiceId}.pdf`,
      base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    };
  }
}

/** An invoice or credit note to be printed or mailed, with its parties as they were when it was finished. */
export interface FinishedDocument {
  invoice: Invoice;
  kind: DocumentContent['kind'];
  seller: InvoiceMerchant;
  buyer: User | null;
  /** None for invoices of before taxes were kept by rate. */
  taxes?: ContentTax[];
}

/**
 * A group of taxes as it is printed. Reverse charge is told by the category, in the language of the document; a rate that
 * was stated by the merchant needs no reason.
 */
const printedTax = ({ category, ratePpm, net, tax, jurisdiction, source, reason }: TaxEntry): ContentTax => ({
  category,
  ratePpm,
  net: BigInt(net),
  tax: BigInt(tax),
  jurisdiction: category === 'S' ? jurisdiction : '',
  reason: category === 'AE' || source === 'request' ? '' : reason,
});

function hidden(error: unknown): never {
  if (error instanceof Rejected && error.slug === 'invoice_is_draft') throw new Rejected('invoice_not_found');
  throw error;
}
