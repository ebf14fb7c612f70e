import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DAY_SECONDS } from '@recur/kernel';
import { type Caller, FairQueue, JobThread, LOG, type Log, patient, type Tx, type Work, work } from '@recur/platform';
import { type FileTable, type Slice, UnreadableFile, type Written } from './format/slice.js';
import type { Done, Job } from './format/worker.js';
import type { TaskRow } from './tables.js';

/** The kind of work that removes the file of a task; the key is its id. */
const REMOVE_WORK = 'task.remove';

const insertPart = 'insert into task_parts (merchant_id, task_id, part, content) values ($1, $2, $3, $4)';
const deleteParts = 'delete from task_parts where merchant_id = $1 and task_id = $2';

/** Adds bytes to the file of a task, in parts of at most so many bytes; returns the number of its parts then. */
export async function addToFile(
  tx: Tx,
  { id, parts }: Pick<TaskRow, 'id' | 'parts'>,
  content: Uint8Array,
  most: number,
): Promise<number> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  let added = parts;
  for (let at = 0; at < bytes.length; at += most) {
    await tx.run(insertPart, [tx.merchantId, id, added++, bytes.subarray(at, at + most)]);
  }
  return added;
}

const insertUpload = 'insert into task_uploads (merchant_id, task_id, content) values ($1, $2, $3)';
const deleteUpload = 'delete from task_uploads where merchant_id = $1 and task_id = $2';

/** Keeps the file that was sent for a task until it is taken. */
export const keepUpload = (tx: Tx, id: number, content: Buffer): Promise<unknown> =>
  tx.run(insertUpload, [tx.merchantId, id, content]);

export const dropUpload = (tx: Tx, id: number): Promise<unknown> => tx.run(deleteUpload, [tx.merchantId, id]);

export const removeFile = (tx: Tx, id: number): Promise<unknown> => tx.run(deleteParts, [tx.merchantId, id]);

/** Has the file of a task that is done removed once its links are over. */
export const removeLater = (tx: Tx, id: number, now: number): void =>
  tx.schedule(REMOVE_WORK, String(id), now + fileLimits.keptSeconds);

export const removing: Work = work(REMOVE_WORK, { time: 'machine', logged: false }, async (tx, items) => {
  for (const { key } of items) await removeFile(tx, Number(key));
});

/** The jobs that may wait, in all and of a merchant. */
const limits = { running: 1, waiting: 100, perLine: 50 } as const;
const fileThread = { what: 'writes and reads files', jobMs: patient(30_000), heapMb: 384 } as const;

/** Writes and reads files in a worker thread, so that no command waits for it. */
@Injectable()
export class FileThread implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits);
  private readonly thread: JobThread<Job, Done>;

  constructor(@Inject(LOG) log: Log) {
    this.thread = new JobThread(log, { entry: () => new URL('./format/worker.js', import.meta.url), ...fileThread });
  }

  /** The bytes that follow in a file. Rejects `overloaded` where too many wait. */
  write(merchantId: number, slice: Slice): Promise<Written> {
    return this.queue.run(String(merchantId), async () => {
      const done = await this.thread.do({ write: slice });
      return 'content' in done ? done : unexpected();
    });
  }

  /** The table in a file. Rejects UnreadableFile, and `overloaded` where too many wait. */
  read(merchantId: number, bytes: Uint8Array): Promise<FileTable> {
    return this.queue.run(String(merchantId), async () => {
      const done = await this.thread.do({ read: bytes });
      if ('fault' in done) throw new UnreadableFile(done.fault);
      return 'header' in done ? done : unexpected();
    });
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.thread.end(new Error('the service ends'));
  }
}

function unexpected(): never {
  throw new Error('the thread answered another question');
}

// A link to a file needs no credential, so it is signed under a key that its task alone has, and tells when it is over:
// /exports/<merchant>/<task>/<unix seconds>.<HMAC-SHA256, base64url>.

/** How long a file can be fetched, and how long it is kept. */
const fileLimits = { linkSeconds: 7 * DAY_SECONDS, keptSeconds: 8 * DAY_SECONDS } as const;

type LinkedTask = Pick<TaskRow, 'merchantId' | 'id' | 'finishTime' | 'parts' | 'linkKey'>;

/** The link to the file of a task at a time of the machine; '' before it has ended, where it has none, and when the link is over. */
export function fileLink(baseUrl: string, task: LinkedTask, now: number): string {
  return isOpen(task, now) ? `${baseUrl}/exports/${task.merchantId}/${task.id}/${fileSignature(task)}` : '';
}

/** True if this last part of a link opens the file of the task at a time of the machine. */
export function opens(task: LinkedTask, signature: string, now: number): boolean {
  if (!isOpen(task, now)) return false;
  const [given, expected] = [Buffer.from(signature), Buffer.from(fileSignature(task))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const isOpen = ({ finishTime, parts }: LinkedTask, now: number) =>
  finishTime > 0 && parts > 0 && now < finishTime + fileLimits.linkSeconds;

function fileSignature({ merchantId, id, finishTime, linkKey }: LinkedTask): string {
  const until = finishTime + fileLimits.linkSeconds;
  const text = `export link v1\n${merchantId}\n${id}\n${until}`;
  return `${until}.${createHmac('sha256', linkKey).update(text).digest('base64url')}`;
}

/** The id of the member who calls; 0 for an API key. */
export const memberOf = ({ actor }: Caller): number => (actor.kind === 'member' ? Number(actor.id) : 0);
