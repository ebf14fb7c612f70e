import { Injectable } from '@nestjs/common';
import { emptyOf, InvoiceMerchant } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { type NoticeFacts, Notices, type Occasion } from '../invoicing/finish/notices.js';
import { buyerNow } from '../invoicing/finish/parties.js';
import { settingsOf } from '../invoicing/finish/settings.js';
import type { InvoiceState } from '../invoicing/state.js';
import { invoiceView } from '../invoicing/views.js';
import type { MailKind } from '../mail/compose.js';
import { mailAbout } from '../mail/from-invoice.js';
import { MailOutbox } from '../mail/outbox.js';

const kinds: Record<Occasion, MailKind> = {
  issued: 'invoice',
  paid: 'invoice',
  credited: 'credit_note',
  paymentFailed: 'payment_failed',
  needsAction: 'needs_action',
  lastNotice: 'last_notice',
};
const emptyMerchant = emptyOf(InvoiceMerchant);

/** Writes the e-mails about documents that nobody asked for one by one, unless the merchant has switched them off. */
@Injectable()
export class NoticeMails {
  constructor(
    notices: Notices,
    private readonly outbox: MailOutbox,
  ) {
    notices.register((tx, occasion, document, facts) => this.write(tx, occasion, document, facts));
  }

  private async write(tx: Tx, occasion: Occasion, document: InvoiceState, facts: NoticeFacts): Promise<void> {
    if (!this.outbox.isConfigured || !(await settingsOf(tx)).invoiceEmail) return;
    // the address of now, not the one of the document
    const user = (await buyerNow(tx, document.userId)) ?? document.buyer;
    if (user) {
      const mail = mailAbout(kinds[occasion], invoiceView(document), document.seller ?? emptyMerchant, user, facts);
      await this.outbox.queue(tx, mail);
    }
  }
}
