import { Inject, Injectable } from '@nestjs/common';
import { emailStatus } from '@recur/contracts';
import { CLOCK, type Clock, CONFIG, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { composeMail, type MailFacts } from './compose.js';
import { mails } from './tables.js';

/** The kind of work that sends an e-mail; its key is the e-mail's id. */
export const MAIL_WORK = 'mail.send';

/** Queues e-mails in the transaction of what they tell; they are sent after its commit, as work that falls due at once. */
@Injectable()
export class MailOutbox {
  /** False without a mail server and a folder: then e-mails are written only where a command asks for one. */
  readonly isConfigured: boolean;

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) { SMTP_URL, MAIL_FOLDER }: Config,
  ) {
    this.isConfigured = Boolean(SMTP_URL || MAIL_FOLDER);
  }

  /** Writes an e-mail and schedules its sending. Returns its id. The caller writes the log entry. */
  async queue(tx: Tx, facts: MailFacts): Promise<number> {
    const id = await tx.nextId(mails);
    const { kind, invoiceId, userId, email, sellerName, sellerEmail } = facts;
    tx.save(mails, {
      ...composeMail(facts),
      ...{ merchantId: tx.merchantId, id, kind, invoiceId, userId, email, emailKey: email.toLowerCase() },
      senderName: sellerName,
      replyTo: sellerEmail,
      status: emailStatus.pending,
      attempts: 0,
      response: '',
      createTime: tx.now,
      sentTime: 0,
    });
    tx.schedule(MAIL_WORK, String(id), Math.floor(this.clock.wall() / 1000));
    return id;
  }
}
