import { Inject, Injectable } from '@nestjs/common';
import { emailStatus } from '@recur/contracts';
import { type Caller, CLOCK, type Clock, Db, hydrate, systemCaller } from '@recur/platform';
import { type DueMail, dueMails, type Mail, mails } from './tables.js';
import type { Outcome } from './transport.js';

export type { DueMail, Mail };

/** For how long a sender has the e-mails that it took, and the pause after each attempt that failed. */
const leaseMs = 120_000;
const pausesMs = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000] as const;

const take = `update due_mails set due_at_ms = $1::bigint + ${leaseMs}, attempts = attempts + 1
  where (merchant_id, mail_id) in (select merchant_id, mail_id from due_mails where due_at_ms <= $1::bigint
    order by due_at_ms limit $2 for update skip locked) returning *`;
const dismiss = 'delete from due_mails where merchant_id = $1 and mail_id = $2 and attempts = $3';
const postpone = `update due_mails set due_at_ms = $4::bigint where merchant_id = $1 and mail_id = $2 and attempts = $3`;

/** The e-mails to be sent, shared by any number of senders. A sender that was killed leaves its e-mails to another one. */
@Injectable()
export class MailQueue {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Takes e-mails that are due, for two minutes. */
  async take(most: number): Promise<DueMail[]> {
    const rows = await this.db.infra(take, [this.clock.wall(), most]);
    return rows.map(row => hydrate(dueMails, row));
  }

  /** The e-mail, unless it was settled. */
  async mailOf({ merchantId, mailId }: DueMail): Promise<Mail | undefined> {
    const mail = await this.db.read(callerOf(merchantId, mailId), reader => reader.find(mails, { id: mailId }));
    return mail?.status === emailStatus.pending ? mail : undefined;
  }

  /** Records an attempt: the e-mail is sent, will be tried again, or is given up. Nothing where another sender has it. */
  async settle(due: DueMail, outcome: Outcome): Promise<void> {
    const { merchantId, mailId, attempts } = due;
    await this.db.write(callerOf(merchantId, mailId), async tx => {
      const mail = await tx.lockIfAny(mails, { id: mailId });
      const held = await tx.lockIfAny(dueMails, { merchantId, mailId, attempts });
      if (mail === undefined || held === undefined) return {};
      const pause = outcome.sent || outcome.final ? undefined : pausesMs[attempts - 1];
      const status = outcome.sent ? 'sent' : pause === undefined ? 'failed' : 'pending';
      const sentTime = outcome.sent ? tx.now : 0;
      tx.save(mails, { ...mail, attempts, response: outcome.response, status: emailStatus[status], sentTime });
      const key = [merchantId, mailId, attempts];
      if (pause === undefined) await tx.run(dismiss, key);
      else await tx.run(postpone, [...key, this.clock.wall() + pause]);
      tx.log(`Email(${mailId})`, { sent: 'Sent', failed: 'Failed', pending: 'TryAgain' }[status], {
        invoiceId: mail.invoiceId,
        userId: mail.userId,
      });
      return {};
    });
  }

  /** Drops an e-mail that needs no sending any more. */
  async dismiss({ merchantId, mailId, attempts }: DueMail): Promise<void> {
    await this.db.infra(dismiss, [merchantId, mailId, attempts]);
  }
}

/** No client waits, so there is no deadline. */
const callerOf = (merchantId: number, mailId: number): Caller =>
  systemCaller(merchantId, `mail_${mailId}`, Number.POSITIVE_INFINITY);
