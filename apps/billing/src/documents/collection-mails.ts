import { Injectable } from '@nestjs/common';
import { invoiceStatus } from '@recur/contracts';
import { eachItem, type Tx, type Work, work } from '@recur/platform';
import { COLLECTION_MAIL, deadlineOf, mailOfKey } from '../invoicing/payments/collect.js';
import { mailAbout } from '../mail/from-invoice.js';
import { MailOutbox } from '../mail/outbox.js';
import { DocumentReader } from './reader.js';

/** E-mails about the collection of open invoices: the first failure, a question to the user, the last notice. */
@Injectable()
export class CollectionMails {
  readonly work: Work = work(
    COLLECTION_MAIL,
    { time: 'merchant' },
    eachItem((tx, { key }) => this.send(tx, key)),
  );

  constructor(
    private readonly reader: DocumentReader,
    private readonly outbox: MailOutbox,
  ) {}

  /** Nothing is sent about an invoice that is no longer open. */
  private async send(tx: Tx, key: string): Promise<void> {
    const { kind, invoiceId } = mailOfKey(key);
    const { invoice, seller, buyer } = await this.reader.invoiceOf(tx, invoiceId);
    // the address of now, not the one of the document
    const user = invoice.userAccount ?? buyer;
    if (invoice.status !== invoiceStatus.processing || user === null) return;
    const link = kind === 'needs_action' && invoice.payment?.link ? { link: invoice.payment.link } : {};
    const dueAt = await deadlineOf(tx, invoiceId);
    await this.outbox.queue(tx, mailAbout(kind, invoice, seller, user, { ...link, dueAt }));
    tx.log(`Invoice(${invoiceId})`, 'SendEmail', { invoiceId, userId: invoice.userId });
  }
}
