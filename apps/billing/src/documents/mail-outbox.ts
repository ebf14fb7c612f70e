import { Inject, Injectable } from '@nestjs/common';
import { emailStatus } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG, type Reader, type Tx } from '@recur/platform';
import { hasMailRoute, type Outcome } from '@recur/platform/mail';
import type { Config } from '../config.js';
import { composeMail, type MailInput, oneLine } from './mail-content.js';
import { type Mail, mails } from './tables.js';

/** The kind of work that sends an e-mail; its key is the e-mail's id. */
export const MAIL_WORK = 'mail.send';

/** E-mails to one address within a minute, beyond which none is written that a command asks for. */
const limits = { perMinute: 10 } as const;

const recentMails = `select count(*)::integer as count from mails
  where merchant_id = $1 and email_key = $2 and create_time > $3`;

/** Throws Rejected `rate_limited` where the address was sent too many e-mails within the last minute. */
export async function assertNotFlooded(tx: Tx, email: string): Promise<void> {
  const emailKey = email.toLowerCase();
  // requests of the same moment are counted one after the other
  await tx.lockName(`mails ${tx.merchantId} ${emailKey}`);
  const [row] = await tx.query(recentMails, [tx.merchantId, emailKey, tx.now - 60]);
  if (Number(row?.count) < limits.perMinute) return;
  throw new Rejected('rate_limited', `At most ${limits.perMinute} e-mails a minute are sent to one address`);
}

/** Queues e-mails in the transaction of what they tell; they are sent after its commit, as work that falls due at once. */
@Injectable()
export class MailOutbox {
  /** False without a mail server and a folder: then e-mails are written only where a command asks for one. */
  readonly isConfigured: boolean;

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
  ) {
    this.isConfigured = hasMailRoute(config);
  }

  /** Writes an e-mail and schedules its sending. Returns its id. The caller writes the log entry. */
  async queue(tx: Tx, mail: MailInput): Promise<number> {
    const id = await tx.nextId(mails);
    const { kind, invoiceId, userId, email, sellerName, sellerEmail } = mail;
    tx.save(mails, {
      ...composeMail(mail),
      merchantId: tx.merchantId,
      id,
      kind,
      invoiceId,
      userId,
      email,
      emailKey: email.toLowerCase(),
      senderName: oneLine(sellerName),
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

export type { Mail };

/** Seconds to wait after each attempt that failed; after the last one the e-mail is given up. */
const pauses = [60, 300, 1_800, 7_200, 21_600] as const;

/** The e-mail, unless it is sent or given up. */
export async function pendingMail(reader: Reader, id: number): Promise<Mail | undefined> {
  const mail = await reader.find(mails, { id });
  return mail?.status === emailStatus.pending ? mail : undefined;
}

/**
 * Records an attempt to send an e-mail: it is sent, given up, or scheduled again. `machineNow` is in unix seconds of the
 * machine's clock. Returns the e-mail if it is sent now.
 */
export async function recordMailAttempt(
  tx: Tx,
  id: number,
  outcome: Outcome,
  machineNow: number,
): Promise<Mail | undefined> {
  const mail = await tx.lockIfAny(mails, { id });
  if (mail?.status !== emailStatus.pending) return undefined;
  const attempts = mail.attempts + 1;
  const pause = outcome.sent || outcome.final ? undefined : pauses[attempts - 1];
  const state = outcome.sent ? 'sent' : pause === undefined ? 'failed' : 'pending';
  const sentTime = outcome.sent ? tx.now : 0;
  tx.save(mails, { ...mail, attempts, response: outcome.response, status: emailStatus[state], sentTime });
  if (pause !== undefined) tx.schedule(MAIL_WORK, String(id), machineNow + pause);
  const content = { sent: 'Sent', failed: 'GiveUp', pending: 'TryAgain' }[state];
  tx.log(`Email(${id})`, content, { invoiceId: mail.invoiceId, userId: mail.userId });
  return outcome.sent ? mail : undefined;
}
