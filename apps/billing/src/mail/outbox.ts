import { Inject, Injectable } from '@nestjs/common';
import { emailStatus } from '@recur/contracts';
import { CLOCK, type Clock, type Tx } from '@recur/platform';
import { composeMail, type MailFacts } from './compose.js';
import { dueMails, mails } from './tables.js';

/** Queues e-mails in the transaction of what they tell; they are sent after its commit, by MailSender. */
@Injectable()
export class MailOutbox {
  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /** Writes an e-mail and queues it. Returns its id. Who queues writes the log entry. */
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
    tx.save(dueMails, { merchantId: tx.merchantId, mailId: id, dueAtMs: this.clock.wall(), attempts: 0 });
    return id;
  }
}
