import { Controller } from '@nestjs/common';
import { fetchDocument, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { DocumentLinks } from '../invoicing/document-links.js';
import { originalInvoiceOf } from '../invoicing/lists/details.js';
import { Logos } from './logos.js';
import { DocumentReader } from './reader.js';
import { DocumentRenderer } from './renderer.js';

/** Most bytes of a PDF that fit into one message as base64. */
const limits = { bytes: 2_500_000 } as const;

@Controller()
export class Documents {
  constructor(
    private readonly db: Db,
    private readonly links: DocumentLinks,
    private readonly reader: DocumentReader,
    private readonly logos: Logos,
    private readonly renderer: DocumentRenderer,
  ) {}

  /** The PDF behind a signed link. A wrong signature gets what an unknown invoice gets. */
  @Handle(fetchDocument)
  async fetch({ merchantId, invoiceId, signature }: In<typeof fetchDocument>, caller: Caller) {
    const isSignedFor = (id: string) => this.links.isGenuine(merchantId, id, signature);
    const as = { ...caller, merchantId };
    const printed = await this.db.read(as, async reader => {
      // the link of a credit note may be signed for its invoice
      const isSigned = isSignedFor(invoiceId) || isSignedFor(await originalInvoiceOf(reader, invoiceId));
      if (!isSigned) throw new Rejected('invoice_not_found');
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
