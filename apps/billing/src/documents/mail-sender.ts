import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, Db, LOG, type Log, PeriodicTask, systemCaller, type Worker } from '@recur/platform';
import type { Config } from '../config.js';
import { type DueMail, type Mail, MailQueue } from '../mail/queue.js';
import { type Envelope, type MailTransport, type Outcome, transportOf } from '../mail/transport.js';
import { DocumentReader } from './reader.js';
import { DocumentRenderer } from './renderer.js';

/** Pause between rounds, and e-mails that one round takes and sends at once. */
const limits = { everyMs: 2_000, atOnce: 8 } as const;

/**
 * Sends queued e-mails, each outside any transaction: taken with a lease, sent, and its outcome recorded. One whose sender
 * was killed in between is sent again under the same Message-ID.
 */
@Injectable()
export class MailSender implements Worker {
  protected readonly transport: MailTransport;
  private readonly from: { name: string; address: string };
  private readonly task = new PeriodicTask(
    limits.everyMs,
    () => this.round(),
    error => this.log.warn({ err: error }, 'e-mails could not be sent'),
  );

  constructor(
    private readonly db: Db,
    private readonly queue: MailQueue,
    private readonly documents: DocumentReader,
    private readonly renderer: DocumentRenderer,
    @Inject(CONFIG) config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.transport = transportOf(config);
    this.from = mailbox(config.MAIL_FROM);
  }

  start(): void {
    this.task.start();
  }

  async stop(): Promise<void> {
    await this.task.stop();
    this.transport.close();
  }

  /** Sends all e-mails that are due. */
  async round(): Promise<void> {
    for (let full = true; full && !this.task.stopped; ) {
      const due = await this.queue.take(limits.atOnce);
      await Promise.all(due.map(each => this.send(each)));
      full = due.length === limits.atOnce;
    }
  }

  private async send(due: DueMail): Promise<void> {
    try {
      const mail = await this.queue.mailOf(due);
      if (mail === undefined) await this.queue.dismiss(due);
      else await this.queue.settle(due, await this.attempt(mail));
    } catch (error) {
      // it is due again when the lease ends
      this.log.error({ err: error, ...due }, 'an e-mail could not be sent');
    }
  }

  private async attempt(mail: Mail): Promise<Outcome> {
    try {
      return await this.transport.send(await this.envelopeOf(mail));
    } catch (error) {
      this.log.error({ err: error, merchantId: mail.merchantId, mailId: mail.id }, 'an attachment could not be made');
      return { sent: false, response: 'The PDF could not be made', final: false };
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
      date: new Date(this.clock.wall()),
      attachments,
    };
  }

  private async pdfOf({ merchantId, id, invoiceId }: Mail): Promise<Uint8Array> {
    const caller = systemCaller(merchantId, `mail_${id}`, Number.POSITIVE_INFINITY);
    return this.renderer.render(await this.db.read(caller, reader => this.documents.contentOf(reader, invoiceId)));
  }
}

/** `Name <address>`, or an address alone. */
function mailbox(text: string): { name: string; address: string } {
  const [, name = '', address = text.trim()] = /^\s*"?([^"<]*?)"?\s*<([^>]+)>\s*$/.exec(text) ?? [];
  return { name, address };
}
