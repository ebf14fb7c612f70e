import { Controller, Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type In, sendInvoiceEmail } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import {
  type Caller,
  CLOCK,
  type Clock,
  CONFIG,
  Db,
  fetchedWork,
  Handle,
  LOG,
  type Log,
  systemCaller,
  type Tx,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { type Envelope, htmlOf, type MailTransport, mailboxOf, type Outcome, transportOf } from '@recur/platform/mail';
import type { Config } from '../config.js';
import { emptyMerchant } from '../customers/merchants.js';
import { CustomerNotifications, type NotificationKind, type NotificationParts } from '../invoices/notifications.js';
import { buyerNow } from '../invoices/parties.js';
import { invoiceSettingsOf, markSent } from '../invoices/settings.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceView } from '../invoices/views.js';
import { DocumentReader } from './documents.js';
import { Logos } from './logos.js';
import { type MailKind, mailAbout } from './mail-content.js';
import { assertNotFlooded, MAIL_WORK, type Mail, MailOutbox, pendingMail, recordMailAttempt } from './mail-outbox.js';
import { DocumentRenderer } from './renderer.js';

/** The e-mails that one replica sends at once, and the time that they may take together. */
const limits = { batch: 8, leaseSeconds: 180 } as const;

/**
 * Sends queued e-mails, outside of any transaction, and records how it went. An e-mail whose sender was killed in between
 * is sent again under the same Message-ID.
 */
@Injectable()
export class MailSender implements OnModuleDestroy {
  readonly work: Work;
  protected readonly transport: MailTransport;
  private readonly from: { name: string; address: string };

  constructor(
    private readonly db: Db,
    private readonly documents: DocumentReader,
    private readonly logos: Logos,
    private readonly renderer: DocumentRenderer,
    @Inject(CONFIG) config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.transport = transportOf(config);
    this.from = mailboxOf(config.MAIL_FROM);
    this.work = fetchedWork(
      MAIL_WORK,
      { time: 'machine', batch: limits.batch, leaseSeconds: limits.leaseSeconds, atOnce: 1 },
      items => Promise.all(items.map(item => this.send(item))),
      async (tx, items, outcomes) => {
        const now = Math.floor(this.clock.wall() / 1000);
        const sent: Mail[] = [];
        for (const [at, item] of items.entries()) {
          const outcome = outcomes[at];
          const mail = outcome && (await recordMailAttempt(tx.item(item), Number(item.key), outcome, now));
          if (mail && isOfDocument(mail)) sent.push(mail);
        }
        const invoiceIds = sent.map(({ invoiceId }) => invoiceId);
        if (invoiceIds.length > 0) await markSent(tx, invoiceIds);
      },
    );
  }

  onModuleDestroy(): void {
    this.transport.close();
  }

  /** Tries to send an e-mail; undefined for one that is settled. */
  private async send({ merchantId, key, requestId }: WorkItem): Promise<Outcome | undefined> {
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    const mail = await this.db.read(caller, reader => pendingMail(reader, Number(key)));
    return mail && this.attempt(mail);
  }

  private async attempt(mail: Mail): Promise<Outcome> {
    try {
      return await this.transport.send(await this.envelopeOf(mail));
    } catch (error) {
      this.log.error({ err: error, merchantId: mail.merchantId, mailId: mail.id }, 'an attachment could not be made');
      return { sent: false, response: failureReason(error), final: false };
    }
  }

  private async envelopeOf(mail: Mail): Promise<Envelope> {
    const { merchantId, id, email, senderName, replyTo, title, content, attachFile } = mail;
    const attachments = attachFile === '' ? [] : [{ filename: attachFile, content: await this.pdfOf(mail) }];
    const { name, address } = this.from;
    const host = address.slice(address.lastIndexOf('@') + 1);
    return {
      messageId: `<mail-${merchantId}-${id}@${host}>`,
      from: { name: senderName || name, address },
      replyTo,
      to: email,
      subject: title,
      text: content,
      html: htmlOf(title, content),
      date: new Date(this.clock.wall()),
      attachments,
    };
  }

  private async pdfOf({ merchantId, id, invoiceId }: Mail): Promise<Uint8Array> {
    const caller = systemCaller(merchantId, `mail_${id}`, Number.POSITIVE_INFINITY);
    const printed = await this.db.read(caller, reader => this.documents.contentOf(reader, invoiceId));
    return this.renderer.render(merchantId, await this.logos.addedTo(printed, caller));
  }
}

/** True if an e-mail brings a document, and not only news of its payment. */
const isOfDocument = ({ kind }: Mail): boolean => kind === 'invoice' || kind === 'credit_note';

/** The reason as the list of e-mails shows it: no stack. */
function failureReason(error: unknown): string {
  if (error instanceof Rejected) return error.message;
  const [reason = ''] = error instanceof Error ? error.message.split('\n') : [];
  return `The PDF could not be made: ${reason.slice(0, 200)}`;
}

@Controller()
export class InvoiceMails {
  constructor(
    private readonly db: Db,
    private readonly reader: DocumentReader,
    private readonly outbox: MailOutbox,
  ) {}

  @Handle(sendInvoiceEmail)
  send({ invoiceId }: In<typeof sendInvoiceEmail>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { invoice, kind, seller, buyer } = await this.reader.invoiceOf(tx, invoiceId);
      // the address of now, not the one of the document
      const user = invoice.userAccount ?? buyer;
      if (user === null) throw new Rejected('user_not_found');
      await assertNotFlooded(tx, user.email);
      await this.outbox.queue(tx, mailAbout(kind, invoice, seller, user));
      tx.log(`Invoice(${invoiceId})`, 'SendEmail', { invoiceId, userId: invoice.userId });
      return {};
    });
  }
}

const kindOfNotification: Record<NotificationKind, MailKind> = {
  issued: 'invoice',
  paid: 'invoice',
  credited: 'credit_note',
  paymentFailed: 'payment_failed',
  needsAction: 'needs_action',
  lastNotice: 'last_notice',
};

/** Writes the e-mails about documents that nobody asked for one by one, unless the merchant has switched them off. */
@Injectable()
export class NoticeMails extends CustomerNotifications {
  constructor(private readonly outbox: MailOutbox) {
    super();
  }

  async notify(
    tx: Tx,
    occasion: NotificationKind,
    document: InvoiceState,
    parts: NotificationParts = {},
  ): Promise<void> {
    if (!this.outbox.isConfigured || !(await invoiceSettingsOf(tx)).invoiceEmail) return;
    // the address of now, not the one of the document
    const user = (await buyerNow(tx, document.userId)) ?? document.buyer;
    if (user) {
      const mail = mailAbout(
        kindOfNotification[occasion],
        invoiceView(document),
        document.seller ?? emptyMerchant,
        user,
        parts,
      );
      await this.outbox.queue(tx, mail);
    }
  }
}
