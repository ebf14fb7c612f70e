import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Keyring } from '@recur/platform';
import type { Config } from '../config.js';

/** Links to the PDFs of finished invoices and credit notes: signed, so that they need no credential and name no secret. */
@Injectable()
export class DocumentLinks {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly keyring: Keyring,
  ) {}

  linkOf(merchantId: number, invoiceId: string): string {
    const signature = this.keyring.sign(signed(merchantId, invoiceId));
    return `${this.config.BASE_URL}/documents/${merchantId}/${invoiceId}/${signature}`;
  }

  /** True if a link was made here. It stays valid for as long as the key that signed it is in the ring. */
  isGenuine(merchantId: number, invoiceId: string, signature: string): boolean {
    return this.keyring.hasSigned(signed(merchantId, invoiceId), signature);
  }
}

const signed = (merchantId: number, invoiceId: string) => `document\n${merchantId}\n${invoiceId}`;
