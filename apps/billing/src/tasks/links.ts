import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TaskRow } from './tables.js';

// A link to a file needs no credential, so it is signed under a key that its task alone has, and tells when it is over:
// /exports/<merchant>/<task>/<unix seconds>.<HMAC-SHA256, base64url>.

/** How long a file can be fetched, and how long it is kept. */
export const fileLimits = { linkSeconds: 7 * 86_400, keptSeconds: 8 * 86_400 } as const;

type Linked = Pick<TaskRow, 'merchantId' | 'id' | 'finishTime' | 'parts' | 'linkKey'>;

/** The link to the file of a task at a time of the machine; '' before it has ended, where it has none, and when the link is over. */
export function fileLink(baseUrl: string, task: Linked, now: number): string {
  return isOpen(task, now) ? `${baseUrl}/exports/${task.merchantId}/${task.id}/${signatureOf(task)}` : '';
}

/** True if this last part of a link opens the file of the task at a time of the machine. */
export function opens(task: Linked, signature: string, now: number): boolean {
  if (!isOpen(task, now)) return false;
  const [given, expected] = [Buffer.from(signature), Buffer.from(signatureOf(task))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const isOpen = ({ finishTime, parts }: Linked, now: number) =>
  finishTime > 0 && parts > 0 && now < finishTime + fileLimits.linkSeconds;

function signatureOf({ merchantId, id, finishTime, linkKey }: Linked): string {
  const until = finishTime + fileLimits.linkSeconds;
  const text = `export link v1\n${merchantId}\n${id}\n${until}`;
  return `${until}.${createHmac('sha256', linkKey).update(text).digest('base64url')}`;
}
