import { Inject, Injectable } from '@nestjs/common';
import { type ExportTask, exportColumns, exportKinds } from '@recur/contracts';
import {
  CLOCK,
  type Clock,
  Db,
  fetchedWork,
  Questions,
  type Sliced,
  systemCaller,
  type Tx,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { isSettled } from '../downloads.js';
import { addToFile, FileThread, removeFile, removeLater } from '../files.js';
import { sheetLimits } from '../format/formats.js';
import type { Written } from '../format/slice.js';
import { type TaskRow, taskRows } from '../tables.js';
import { finalReason, Lasting } from '../tasks.js';
import { requestedZone, sources } from './sources.js';

/**
 * Rows that are written at once, and read at once; the most bytes of a part, which fits into one message as base64, and of a
 * file; the attempts after which a task fails, in some half an hour; the time that a question to another service may take.
 */
const limits = {
  rows: 5_000,
  page: 1_000,
  partBytes: 2_000_000,
  fileBytes: 0xffff_ffff - 10_000_000,
  attempts: 8,
  leaseSeconds: 180,
  askMs: 20_000,
} as const;

/** The kind of work that writes an export, slice by slice; the key is the id of its task. */
export const EXPORT_WORK = 'task.export';

const unwritten = 'The file could not be written; make the export again';

type ExportTaskRow = TaskRow & { task: ExportTask };

/** A slice that was made outside of the transaction, from a task as it was; or the reason why it ends without a file. */
type WrittenSlice = { task: ExportTaskRow } & (
  | { reason: string }
  | { reason?: never; next: string | undefined; file: Written }
);

/**
 * Writes the files of exports as due work, a slice of rows at a time: read and written as bytes outside of the transaction
 * that keeps them with the position in the list. A worker that is killed loses its slice and no other.
 */
@Injectable()
export class ExportWriting {
  readonly works: readonly Work[];
  protected readonly limits: Readonly<Record<keyof typeof limits, number>> = limits;

  constructor(
    private readonly db: Db,
    private readonly questions: Questions,
    private readonly files: FileThread,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    const { attempts, leaseSeconds } = limits;
    const options = { time: 'machine', batch: 1, atOnce: 1, logged: false, leaseSeconds } as const;
    this.works = [
      fetchedWork(
        EXPORT_WORK,
        // more than are tried: the task of an item that ended its worker each time fails without another try
        { ...options, attempts: attempts + 2 },
        ([item]) => this.made(item),
        async (tx, _, made) => {
          if (made) await this.keep(tx, made);
        },
      ),
    ];
  }

  /** The next slice of a task; undefined for one that is settled. */
  private async made(item: WorkItem | undefined): Promise<WrittenSlice | undefined> {
    if (!item) return undefined;
    const { merchantId, key, requestId, attempt } = item;
    const caller = systemCaller(merchantId, requestId, this.clock.wall() + this.limits.askMs);
    const task = await this.db.read(caller, reader => reader.find(taskRows, { id: Number(key) }));
    if (!task || isSettled(task) || !isExport(task)) return undefined;
    if (attempt > this.limits.attempts) return { task, reason: 'The service ended while it wrote the file' };
    try {
      return await this.slice(task, item);
    } catch (error) {
      const reason = finalReason(error, attempt >= this.limits.attempts, unwritten);
      if (reason === undefined) throw error;
      return { task, reason };
    }
  }

  private async slice(task: ExportTaskRow, item: WorkItem): Promise<WrittenSlice> {
    const { rows, next } = await this.rowsOf(task, item);
    const { format, payload } = task;
    if (format === 'xlsx' && task.rows + rows.length > sheetLimits.rows) {
      throw new Lasting(`A sheet holds ${sheetLimits.rows} rows: export as csv, or narrow the filters`);
    }
    const kinds = exportColumns(task.task);
    const columns = task.columns.map(name => ({ name, kind: kinds[name] ?? 'text' }));
    const { rows: before, bytes, crc, rawBytes } = task;
    const state = { rows: before, bytes, crc, rawBytes };
    const file = await this.files.write(task.merchantId, {
      format,
      columns,
      rows,
      zone: requestedZone(payload),
      last: next === undefined,
      state,
    });
    if (Math.max(file.bytes, file.rawBytes) > this.limits.fileBytes) {
      throw new Lasting('The file would be larger than 4 GB: narrow the filters, or name fewer columns');
    }
    return { task, next, file };
  }

  private async rowsOf(task: ExportTaskRow, { requestId }: WorkItem): Promise<Sliced<(string | number)[]>> {
    const { merchantId, payload, columns } = task;
    const rows: (string | number)[][] = [];
    let next: string | undefined = task.position;
    while (next !== undefined && rows.length < this.limits.rows) {
      const caller = systemCaller(merchantId, requestId, this.clock.wall() + this.limits.askMs);
      const reading = { db: this.db, questions: this.questions, caller, payload, columns };
      const page: Sliced<(string | number)[]> = await sources[task.task](reading, {
        after: next,
        count: Math.min(this.limits.page, this.limits.rows - rows.length),
      });
      rows.push(...page.rows);
      next = page.next;
    }
    return { rows, next };
  }

  /** Keeps what was made, if the task is still where it was. */
  private async keep(tx: Tx, made: WrittenSlice): Promise<void> {
    const { id, parts, position } = made.task;
    const task = await tx.lockIfAny(taskRows, { id });
    if (!task || isSettled(task) || task.parts !== parts || task.position !== position) return;
    const now = Math.floor(this.clock.wall() / 1_000);
    const startTime = task.startTime || now;
    if (made.reason !== undefined) {
      await removeFile(tx, id);
      const ended = { status: 'failed', failureReason: made.reason, parts: 0, bytes: 0 } as const;
      tx.save(taskRows, { ...task, ...ended, startTime, finishTime: now, modifyTime: now });
      return;
    }
    const { next, file } = made;
    const all = await addToFile(tx, task, file.content, this.limits.partBytes);
    const { rows, bytes, crc, rawBytes } = file;
    const isDone = next === undefined;
    tx.save(taskRows, {
      ...task,
      rows,
      bytes,
      crc,
      rawBytes,
      startTime,
      modifyTime: now,
      parts: all,
      position: next ?? '',
      status: isDone ? 'done' : 'running',
      finishTime: isDone ? now : 0,
    });
    if (isDone) removeLater(tx, id, now);
    else tx.schedule(EXPORT_WORK, String(id), now);
  }
}

const isExport = (task: TaskRow): task is ExportTaskRow => Object.hasOwn(exportKinds, task.task);
