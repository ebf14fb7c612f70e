import { randomBytes } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import { exportColumns, exportKinds, type In, listExportColumns, listTasks, newExport } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, type Condition, Db, Handle, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { exportLink } from './links.js';
import { memberOf } from './members.js';
import { assertExportable } from './settings.js';
import { EXPORT_WORK, type ExportTaskRow, exportTaskRows } from './tables.js';
import { taskView } from './views.js';

/** Tasks of a merchant that are not done. */
const limits = { open: 20 } as const;

const open = `select count(*)::integer as count from tasks
  where merchant_id = $1 and status in ('queued', 'running')`;

/** Exports that are asked for, and how they went. */
@Controller()
export class ExportTasks {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(newExport)
  add(input: In<typeof newExport>, caller: Caller) {
    assertExportable(input);
    return this.db.write(caller, async tx => {
      await assertRoom(tx);
      const now = this.now();
      const row = newTask(input, { merchantId: tx.merchantId, id: await tx.nextId(exportTaskRows), now });
      const task = { ...row, memberId: memberOf(caller) };
      tx.save(exportTaskRows, task);
      tx.schedule(EXPORT_WORK, String(task.id), now);
      tx.log(`Export(${task.id})`, `New: ${task.task}`);
      return { task: taskView(task, '') };
    });
  }

  @Handle(listTasks)
  list({ page, count }: In<typeof listTasks>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where: Condition[] = [['member_id = ?', memberOf(caller) || undefined]];
      const order = 'create_time desc, id desc';
      const { rows, total } = await reader.page({ from: exportTaskRows, where, order, page, count });
      const downloads = rows.map(row => taskView(row, exportLink(this.config.BASE_URL, row, this.now())));
      return { downloads, total };
    });
  }

  @Handle(listExportColumns)
  columns({ task }: In<typeof listExportColumns>) {
    const groups = Object.entries(exportKinds[task].groups);
    return Promise.resolve({
      columns: Object.keys(exportColumns(task)),
      groupColumns: Object.fromEntries(groups.map(([group, columns]) => [group, Object.keys(columns)])),
    });
  }

  private now(): number {
    return Math.floor(this.clock.wall() / 1_000);
  }
}

/** Throws Rejected `too_many_tasks`. */
async function assertRoom(tx: Tx): Promise<void> {
  // requests of the same moment are counted one after the other
  await tx.lockName(`tasks ${tx.merchantId}`);
  const [row] = await tx.query(open, [tx.merchantId]);
  if (Number(row?.count) >= limits.open) throw new Rejected('too_many_tasks');
}

function newTask(
  { task, payload, exportColumns: asked, format }: In<typeof newExport>,
  { merchantId, id, now }: { merchantId: number; id: number; now: number },
): ExportTaskRow {
  return {
    ...{ merchantId, id, memberId: 0, task, format, payload, status: 'queued', position: '' },
    columns: asked.length > 0 ? asked : Object.keys(exportColumns(task)),
    ...{ rows: 0, parts: 0, bytes: 0, crc: 0, rawBytes: 0, failureReason: '' },
    linkKey: randomBytes(24).toString('base64url'),
    ...{ createTime: now, startTime: 0, finishTime: 0, modifyTime: now },
  };
}
