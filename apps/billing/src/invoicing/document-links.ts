import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CONFIG, type Reader, systemClock } from '@recur/platform';
import type { Config } from '../config.js';
import { type InvoiceRow, invoices } from './tables.js';

// A link to a PDF needs no credential, so it is signed under a key that its document alone has, and tells the day on which
// it was given: /documents/<merchant>/<document>/<day>.<HMAC-SHA256, base64url>. With another key it is over with all that
// were given before. An invoice keeps the address and the key as one text; '' for a draft.

type Linked = Pick<InvoiceRow, 'merchantId' | 'invoiceId' | 'pdfLink'>;

const dayMs = 86_400_000;
/** A link of the days before they had one ends with its signature, which nobody can guess either: it is the key. */
const parts = /^(.*\/documents\/\d+\/[^/]+)\/([^/]+)$/;

/** The link to an invoice's PDF that is given today; '' for none. */
export function documentLink(invoice: Linked): string {
  const [, address, key = ''] = parts.exec(invoice.pdfLink) ?? [];
  if (address === undefined) return '';
  // on the machine's clock: a link that was sent grows old whatever time a merchant's clock tells
  const day = Math.floor(systemClock.wall() / dayMs);
  return `${address}/${signed(invoice, key, day)}`;
}

function signed({ merchantId, invoiceId }: Linked, key: string, day: number): string {
  const text = `document link v1\n${merchantId}\n${invoiceId}\n${day}`;
  return `${day}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

/** Makes the keys of documents, and tells which links still open them. */
@Injectable()
export class DocumentLinks {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** The address of a document with a new key: no link that was given before opens it. */
  keyed(merchantId: number, invoiceId: string): string {
    const key = randomBytes(24).toString('base64url');
    return `${this.config.BASE_URL}/documents/${merchantId}/${invoiceId}/${key}`;
  }

  /** Throws Rejected `invoice_not_found` unless the last part of a link opens this document today. */
  async require(reader: Reader, invoiceId: string, signature: string): Promise<void> {
    const invoice = await reader.get(invoices, { invoiceId }, 'invoice_not_found');
    if (!this.opens(invoice, signature)) throw new Rejected('invoice_not_found');
  }

  private opens(invoice: InvoiceRow, signature: string): boolean {
    const [, , key] = parts.exec(invoice.pdfLink) ?? [];
    const day = Number(/^\d{1,6}(?=\.)/.exec(signature)?.[0] ?? Number.NaN);
    if (key === undefined || Number.isNaN(day)) return false;
    const [given, expected] = [Buffer.from(signature), Buffer.from(signed(invoice, key, day))];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
    return Math.floor(systemClock.wall() / dayMs) - day <= this.config.DOCUMENT_LINK_DAYS;
  }
}
