import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CONFIG, type Reader, systemClock } from '@recur/platform';
import type { Config } from '../config.js';
import { type InvoiceRow, invoices } from './tables.js';

// A link to a PDF needs no credential, so it is signed under a key that its document alone has, and tells the day on which
// it was given: /documents/<merchant>/<document>/<day>.<HMAC-SHA256, base64url>. With another key it is over with all that
// were given before.

type LinkedInvoice = Pick<InvoiceRow, 'merchantId' | 'invoiceId' | 'pdfLink' | 'documentKey'>;

const dayMs = 86_400_000;
/** The address of a document. The versions before keys added a signature, which is the key of what they finished last. */
const parts = /^(.*\/documents\/\d+\/[^/]+)(?:\/([^/]+))?$/;

/** The link to an invoice's PDF that is given today; '' for a draft. */
export function documentLink(invoice: LinkedInvoice): string {
  const [, address] = parts.exec(invoice.pdfLink) ?? [];
  // on the machine's clock: a link that was sent grows old whatever time a merchant's clock tells
  const day = Math.floor(systemClock.wall() / dayMs);
  const signature = documentSignature(invoice, day);
  return address === undefined || signature === undefined ? '' : `${address}/${signature}`;
}

/** The last part of the link that is given on a day; undefined where there is no key. */
function documentSignature(
  { merchantId, invoiceId, pdfLink, documentKey }: LinkedInvoice,
  day: number,
): string | undefined {
  const key = documentKey || parts.exec(pdfLink)?.[2];
  if (!key) return undefined;
  const text = `document link v1\n${merchantId}\n${invoiceId}\n${day}`;
  return `${day}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

/** Gives documents their keys, and tells which links open them. */
@Injectable()
export class DocumentLinks {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** The address of a document and a new key: no link that was given before opens it. */
  keyed(merchantId: number, invoiceId: string): Pick<InvoiceRow, 'pdfLink' | 'documentKey'> {
    const pdfLink = `${this.config.BASE_URL}/documents/${merchantId}/${invoiceId}`;
    return { pdfLink, documentKey: randomBytes(24).toString('base64url') };
  }

  /** Throws Rejected `invoice_not_found` unless the last part of a link opens this document today. */
  async require(reader: Reader, invoiceId: string, signature: string): Promise<void> {
    const invoice = await reader.get(invoices, { invoiceId }, 'invoice_not_found');
    if (!this.opens(invoice, signature)) throw new Rejected('invoice_not_found');
  }

  private opens(invoice: LinkedInvoice, signature: string): boolean {
    const day = Number(/^\d{1,6}(?=\.)/.exec(signature)?.[0] ?? Number.NaN);
    const right = documentSignature(invoice, day);
    if (Number.isNaN(day) || right === undefined) return false;
    const [given, expected] = [Buffer.from(signature), Buffer.from(right)];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
    return Math.floor(systemClock.wall() / dayMs) - day <= this.config.DOCUMENT_LINK_DAYS;
  }
}
