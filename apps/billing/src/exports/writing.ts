import { Inject, Injectable } from '@nestjs/common';
import { errors, exportColumns } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
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
  work,
} from '@recur/platform';
import type { Written } from './format/slice.js';
import { sheetLimits } from './format/xlsx.js';
import { ExportFormatter } from './formatter.js';
import { fileLimits } from './links.js';
import { zoneOf } from './settings.js';
import { sources } from './sources.js';
import { EXPORT_WORK, type ExportTaskRow, exportTaskRows, REMOVE_WORK } from './tables.js';

/**
 * Rows that are written at once, and read at once; the most bytes of a part, which fits into one message as base64, and of a
 * file; the attempts after which a task fails, in some half an hour; the time that a question to another service may take.
 */
const limits = {
  ...{ rows: 5_000, page: 1_000, partBytes: 2_000_000, fileBytes: 0xffff_ffff - 10_000_000 },
  ...{ attempts: 8, leaseSeconds: 180, askMs: 20_000 },
} as const;

const insertPart = 'insert into task_parts (merchant_id, task_id, part, content) values ($1, $2, $3, $4)';
const removeParts = 'delete from task_parts where merchant_id = $1 and task_id = $2';

/** A slice that was made outside of the transaction, from a task as it was; or the reason why it ends without a file. */
type Made = { task: ExportTaskRow } & (
  | { reason: string }
  | { reason?: never; count: number; next: string | undefined; file: Written }
);

/** A limit of the format: another attempt would meet it too. */
class TooLarge extends Error {}

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
    private readonly formatter: ExportFormatter,
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
      work(REMOVE_WORK, options, async (tx, items) => {
        for (const { key } of items) await tx.run(removeParts, [tx.merchantId, Number(key)]);
      }),
    ];
  }

  /** The next slice of a task; undefined for one that is settled. */
  private async made(item: WorkItem | undefined): Promise<Made | undefined> {
    if (!item) return undefined;
    const { merchantId, key, requestId, attempt } = item;
    const caller = systemCaller(merchantId, requestId, this.clock.wall() + this.limits.askMs);
    const task = await this.db.read(caller, reader => reader.find(exportTaskRows, { id: Number(key) }));
    if (!task || isSettled(task)) return undefined;
    if (attempt > this.limits.attempts) return { task, reason: 'The service ended while it wrote the file' };
    try {
      return await this.slice(task, item);
    } catch (error) {
      const reason = finalReason(error, attempt >= this.limits.attempts);
      if (reason === undefined) throw error;
      return { task, reason };
    }
  }

  private async slice(task: ExportTaskRow, item: WorkItem): Promise<Made> {
    const { rows, next } = await this.rowsOf(task, item);
    const { format, payload } = task;
    if (format === 'xlsx' && task.rows + rows.length > sheetLimits.rows) {
      throw new TooLarge(`A sheet holds ${sheetLimits.rows} rows: export as csv, or narrow the filters`);
    }
    const kinds = exportColumns(task.task);
    const columns = task.columns.map(name => ({ name, kind: kinds[name] ?? 'text' }));
    const { bytes, crc, rawBytes } = task;
    const file = await this.formatter.write(task.merchantId, {
      ...{ format, columns, rows, zone: zoneOf(payload), last: next === undefined, state: { bytes, crc, rawBytes } },
    });
    if (Math.max(file.bytes, file.rawBytes) > this.limits.fileBytes) {
      throw new TooLarge('The file would be larger than 4 GB: narrow the filters, or name fewer columns');
    }
    return { task, count: rows.length, next, file };
  }

  private async rowsOf(task: ExportTaskRow, { requestId }: WorkItem): Promise<Sliced<(string | number)[]>> {
    const { merchantId, payload, columns } = task;
    const rows: (string | number)[][] = [];
    let next: string | undefined = task.position;
    while (next !== undefined && rows.length < this.limits.rows) {
      const caller = systemCaller(merchantId, requestId, this.clock.wall() + this.limits.askMs);
      const reading = { db: this.db, questions: this.questions, caller, payload, columns };
      const page: Sliced<(string | number)[]> = await sources[task.task](reading, {
        ...{ after: next, count: Math.min(this.limits.page, this.limits.rows - rows.length) },
      });
      rows.push(...page.rows);
      next = page.next;
    }
    return { rows, next };
  }

  /** Keeps what was made, if the task is still where it was. */
  private async keep(tx: Tx, made: Made): Promise<void> {
    const { id, parts, position } = made.task;
    const task = await tx.lockIfAny(exportTaskRows, { id });
    if (!task || isSettled(task) || task.parts !== parts || task.position !== position) return;
    const now = Math.floor(this.clock.wall() / 1_000);
    const startTime = task.startTime || now;
    if (made.reason !== undefined) {
      await tx.run(removeParts, [tx.merchantId, id]);
      const ended = { status: 'failed', failureReason: made.reason, parts: 0, bytes: 0 } as const;
      tx.save(exportTaskRows, { ...task, ...ended, startTime, finishTime: now, modifyTime: now });
      return;
    }
    const { count, next, file } = made;
    const added = partsOf(file.content, this.limits.partBytes);
    for (const [at, content] of added.entries()) await tx.run(insertPart, [tx.merchantId, id, parts + at, content]);
    const { bytes, crc, rawBytes } = file;
    const isDone = next === undefined;
    tx.save(exportTaskRows, {
      ...{ ...task, bytes, crc, rawBytes, startTime, modifyTime: now },
      ...{ rows: task.rows + count, parts: parts + added.length, position: next ?? '' },
      ...{ status: isDone ? 'done' : 'running', finishTime: isDone ? now : 0 },
    });
    if (isDone) tx.schedule(REMOVE_WORK, String(id), now + fileLimits.keptSeconds);
    else tx.schedule(EXPORT_WORK, String(id), now);
  }
}

const isSettled = ({ status }: ExportTaskRow) => status === 'done' || status === 'failed';

function partsOf(content: Uint8Array, most: number): Buffer[] {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += most) parts.push(bytes.subarray(at, at + most));
  return parts;
}

/** Refusals that another attempt would meet too: by the list whose filters these are. */
const lasting: readonly string[] = ['invalid_parameters', 'discount_not_found'];

/** Why a task ends; undefined where it is tried again. */
function finalReason(error: unknown, isLastAttempt: boolean): string | undefined {
  if (error instanceof TooLarge) return error.message;
  if (error instanceof Rejected && lasting.includes(error.slug)) return wordsOf(error);
  if (!isLastAttempt) return undefined;
  return error instanceof Rejected ? wordsOf(error) : 'The file could not be written; make the export again';
}

const wordsOf = ({ slug, message, issues }: Rejected): string =>
  [message || errors[slug].message, ...issues.map(issue => issue.message)].join(': ');
