import { randomBytes } from 'node:crypto';
import { Rejected } from '@recur/kernel';
import type { Caller, Tx } from '@recur/platform';
import { memberOf } from './members.js';
import { type TaskRow, taskRows } from './tables.js';

/** Tasks of a merchant that are not done. */
const limits = { open: 20 } as const;

const open = `select count(*)::integer as count from tasks
  where merchant_id = $1 and status in ('queued', 'running')`;

/** Saves a task that work will do; `now` is a time of the machine. Rejects `too_many_tasks`. */
export async function openTask(
  tx: Tx,
  caller: Caller,
  { now, ...asked }: Pick<TaskRow, 'task' | 'format' | 'payload' | 'columns'> & { now: number },
): Promise<TaskRow> {
  // requests of the same moment are counted one after the other
  await tx.lockName(`tasks ${tx.merchantId}`);
  const [row] = await tx.query(open, [tx.merchantId]);
  if (Number(row?.count) >= limits.open) throw new Rejected('too_many_tasks');
  const task: TaskRow = {
    merchantId: tx.merchantId,
    id: await tx.nextId(taskRows),
    memberId: memberOf(caller),
    ...asked,
    status: 'queued',
    position: '',
    rows: 0,
    parts: 0,
    bytes: 0,
    crc: 0,
    rawBytes: 0,
    failureReason: '',
    linkKey: randomBytes(24).toString('base64url'),
    createTime: now,
    startTime: 0,
    finishTime: 0,
    modifyTime: now,
  };
  tx.save(taskRows, task);
  return task;
}

/** True for a task that has ended: nothing changes it any more. */
export const isSettled = ({ status }: TaskRow): boolean => status === 'done' || status === 'failed';
