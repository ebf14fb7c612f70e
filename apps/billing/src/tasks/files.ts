import { type Tx, type Work, work } from '@recur/platform';
import { fileLimits } from './links.js';
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
