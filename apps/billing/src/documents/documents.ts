import { Controller } from '@nestjs/common';
import { fetchDocument, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { DocumentLinks } from '../invoicing/document-links.js';
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
