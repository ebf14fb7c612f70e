import { emailStatus } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import type { Outcome } from '@recur/platform/mail';
import { MAIL_WORK } from './outbox.js';
import { type Mail, mails } from './tables.js';

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
export async function recordAttempt(
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
