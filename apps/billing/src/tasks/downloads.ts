import { randomBytes } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import { fetchExport, type In, type Out } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, Db, Handle, type Tx } from '@recur/platform';
import { memberOf, opens } from './files.js';
import { type TaskRow, taskRows } from './tables.js';

const part = 'select content from task_parts where merchant_id = $1 and task_id = $2 and part = $3';

/** The files of tasks, part by part, behind their links. */
@Controller()
export class TaskDownloads {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** A part of a file. A wrong link, and one that is over, get what an unknown task gets. */
  @Handle(fetchExport)
  fetch(input: In<typeof fetchExport>, caller: Caller): Promise<Out<typeof fetchExport>> {
    const { merchantId, taskId, signature } = input;
    return this.db.read({ ...caller, merchantId }, async reader => {
      const task = await reader.get(taskRows, { id: taskId }, 'export_not_found');
      const now = Math.floor(this.clock.wall() / 1_000);
      if (!opens(task, signature, now)) throw new Rejected('export_not_found');
      const [row] = await reader.query(part, [merchantId, taskId, input.part]);
      if (!row) throw new Rejected('export_not_found');
      const { bytes, parts } = task;
      return { fileName: fileNameOf(task), bytes, parts, base64: (row.content as Buffer).toString('base64') };
    });
  }
}

const names: Readonly<Record<TaskRow['task'], string>> = {
  UserImport: 'imported-users',
  'UserImport:dry': 'tried-users',
  ActiveSubscriptionImport: 'imported-subscriptions',
  'ActiveSubscriptionImport:dry': 'tried-subscriptions',
  HistorySubscriptionImport: 'imported-history',
  'HistorySubscriptionImport:dry': 'tried-history',
  InvoiceExport: 'invoices',
  UserExport: 'users',
  SubscriptionExport: 'subscriptions',
  TransactionExport: 'transactions',
  CreditTransactionExport: 'credit-transactions',
  DiscountExport: 'discounts',
  UserDiscountExport: 'discount-uses',
  BatchDiscountChildrenExport: 'discount-codes',
  MetricEventExport: 'metric-events',
  OperationLogExport: 'operation-log',
};

/** `invoices-2026-11-28.csv`, by the day on which the task was made. */
const fileNameOf = ({ task, createTime, format }: TaskRow) =>
  `${names[task]}-${new Date(createTime * 1_000).toISOString().slice(0, 10)}.${format}`;

/** Tasks of a merchant that are not done. */
const limits = { open: 20 } as const;

const openCountText = `select count(*)::integer as count from tasks
  where merchant_id = $1 and status in ('queued', 'running')`;

/** Saves a task that work will do; `now` is a time of the machine. Rejects `too_many_tasks`. */
export async function openTask(
  tx: Tx,
  caller: Caller,
  { now, ...asked }: Pick<TaskRow, 'task' | 'format' | 'payload' | 'columns'> & { now: number },
): Promise<TaskRow> {
  // requests of the same moment are counted one after the other
  await tx.lockName(`tasks ${tx.merchantId}`);
  const [row] = await tx.query(openCountText, [tx.merchantId]);
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
