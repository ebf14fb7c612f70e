import { Controller, Inject, Injectable } from '@nestjs/common';
import {
  DRY,
  type ImportName,
  type In,
  importNames,
  importResult,
  importUsers,
  newImport,
  type RowIssue,
  taskOfImport,
} from '@recur/contracts';
import {
  type Caller,
  CLOCK,
  type Clock,
  Db,
  fetchedWork,
  Handle,
  Questions,
  systemCaller,
  type Tx,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { type ImportedRow, SubscriptionImports } from '../../subscriptions/imports/imports.js';
import { isSettled, openTask } from '../downloads.js';
import { addToFile, dropUpload, FileThread, keepUpload, removeLater } from '../files.js';
import { type FileTable, type Slice, timesIn, UnreadableFile, type Written } from '../format/slice.js';
import { type TaskRow, taskRows, taskUploads } from '../tables.js';
import { finalReason, Lasting, taskView } from '../tasks.js';
import { resultColumns, rowsIn } from './cells.js';

/** The kind of work that takes a file; the key is the id of its task. */
const IMPORT_WORK = 'task.import';

const limits = { attempts: 8, leaseSeconds: 120, partBytes: 2_000_000, askMs: 60_000, named: 20 } as const;
const unfinished = 'The file could not be taken; nothing of it was. Send it again';

type ImportTaskRow = TaskRow & { task: ImportName };

/** The outcome of the rows: their results and faults, and the writes of those that billing keeps. */
interface Taken {
  issues: readonly RowIssue[];
  results: ReadonlyMap<number, RowResult>;
  commit?(tx: Tx): Promise<void>;
}

/** An import that was read and checked outside of the transaction that takes it; or the reason why none is. */
interface ImportedPart extends Partial<Pick<Taken, 'commit'>> {
  task: ImportTaskRow;
  reason: string;
  rows: number;
  file?: Written;
}

/**
 * Takes the files of imports as due work: read and checked outside of the transaction in which all of their rows are taken,
 * or none. Users are taken by identity, in one transaction of its own.
 */
@Injectable()
export class ImportRunning {
  readonly work: Work;

  constructor(
    private readonly db: Db,
    private readonly questions: Questions,
    private readonly files: FileThread,
    private readonly subscriptions: SubscriptionImports,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    const { attempts, leaseSeconds } = limits;
    this.work = fetchedWork(
      IMPORT_WORK,
      { time: 'machine', batch: 1, atOnce: 1, leaseSeconds, attempts: attempts + 2 },
      ([item]) => this.made(item),
      async (tx, [item], made) => {
        if (item && made) await this.keep(tx.item(item), made);
      },
    );
  }

  private async made(item: WorkItem | undefined): Promise<ImportedPart | undefined> {
    if (!item) return undefined;
    const { merchantId, key, requestId, attempt } = item;
    const caller = systemCaller(merchantId, requestId, this.clock.wall() + limits.askMs);
    const [task, upload] = await this.db.read(caller, async reader => [
      await reader.find(taskRows, { id: Number(key) }),
      await reader.find(taskUploads, { taskId: Number(key) }),
    ]);
    if (!task || isSettled(task) || !isImport(task) || !upload) return undefined;
    try {
      if (attempt > limits.attempts) throw new Lasting(unfinished);
      const table = await this.files.read(merchantId, upload.content);
      const taken = await this.taken(task, table, caller);
      const slice = resultFile(table, taken.results, taken.issues);
      const file = await this.files.write(merchantId, slice);
      return { task, reason: reasonOfIssues(taken.issues), rows: table.rows.length, file, ...taken };
    } catch (error) {
      const fault = error instanceof UnreadableFile ? new Lasting(error.message) : error;
      const reason = finalReason(fault, attempt >= limits.attempts, unfinished);
      if (reason === undefined) throw error;
      return { task, reason, rows: 0 };
    }
  }

  private async taken(task: ImportTaskRow, table: FileTable, caller: Caller): Promise<Taken> {
    const kind = taskOfImport(task.task);
    if (kind === 'UserImport') {
      const { rows, issues } = rowsIn(kind, table);
      if (issues.length > 0) return { issues, results: new Map() };
      return this.users(task, rows, caller);
    }
    const { rows, issues } = rowsIn(kind, table);
    if (issues.length > 0) return { issues, results: new Map() };
    const { results, ...prepared } = await this.subscriptions.prepared(kind, rows, caller);
    const isTaken = isDry(task) || prepared.issues.length === 0;
    const shown = [...results].map(([row, result]) => [row, subscriptionResult(task, result)] as const);
    return { ...prepared, results: new Map(isTaken ? shown : []) };
  }

  private async users(
    task: ImportTaskRow,
    rows: ReturnType<typeof rowsIn<'UserImport'>>['rows'],
    caller: Caller,
  ): Promise<Taken> {
    const asked = { task: task.id, dry: isDry(task), rows };
    const { issues, results } = await this.questions.ask(importUsers, asked, caller);
    const shown = results.map(({ row, userId, isNew }) => {
      const result: RowResult = { ImportResult: isNew ? importResult.isNew : importResult.wasThere };
      return [row, { ...result, UserId: userId === 0 ? '' : String(userId) }] as const;
    });
    return { issues, results: new Map(shown) };
  }

  /** Takes the rows, and keeps what became of them, if the task is still open. */
  private async keep(tx: Tx, { task: { id }, reason, rows, file, commit }: ImportedPart): Promise<void> {
    const task = await tx.lockIfAny(taskRows, { id });
    if (!task || isSettled(task) || !isImport(task)) return;
    const isDone = reason === '';
    if (isDone && !isDry(task)) await commit?.(tx);
    const now = Math.floor(this.clock.wall() / 1_000);
    const parts = file ? await addToFile(tx, task, file.content, limits.partBytes) : 0;
    await dropUpload(tx, id);
    tx.save(taskRows, {
      ...task,
      parts,
      bytes: file?.bytes ?? 0,
      rows: isDone ? rows : 0,
      failureReason: reason,
      status: isDone ? 'done' : 'failed',
      startTime: now,
      finishTime: now,
      modifyTime: now,
    });
    removeLater(tx, id, now);
    tx.log(`Import(${id})`, `${task.task}: ${isDone ? `${rows} rows` : 'refused'}`);
  }
}

const isImport = (task: TaskRow): task is ImportTaskRow => (importNames as readonly string[]).includes(task.task);
function subscriptionResult(task: ImportTaskRow, { subscriptionId, next }: ImportedRow): RowResult {
  return {
    ImportResult: isDry(task) ? importResult.canBeTaken : importResult.taken,
    ...(!isDry(task) && { SubscriptionId: subscriptionId }),
    ...(next && { NextInvoiceTime: timesIn('UTC')(next.time), NextInvoiceTotal: next.total }),
    ...(next && { NextInvoiceDiscount: next.discount, NextInvoiceTax: next.tax, NextInvoiceCurrency: next.currency }),
  };
}

const isDry = ({ task }: ImportTaskRow): boolean => task.endsWith(DRY);

/** Imports as they are asked for: the file is kept, and taken by due work. */
@Controller()
export class ImportRequests {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(newImport)
  add({ task, file }: In<typeof newImport>, caller: Caller) {
    const content = Buffer.from(file.base64, 'base64');
    const format = content.subarray(0, 2).toString('latin1') === 'PK' ? 'xlsx' : 'csv';
    const now = Math.floor(this.clock.wall() / 1_000);
    return this.db.write(caller, async tx => {
      const payload = { fileName: file.name };
      const opened = await openTask(tx, caller, { task, format, payload, columns: [], now });
      await keepUpload(tx, opened.id, content);
      tx.schedule(IMPORT_WORK, String(opened.id), now);
      tx.log(`Import(${opened.id})`, `New: ${task}`);
      return { task: taskView(opened, '') };
    });
  }
}

/** Issues that a task's reason names. */

/** The outcome of a row: its cells of `resultColumns`, by name. */
export type RowResult = Partial<Record<(typeof resultColumns)[number], string>>;

/** The rows as they were sent, each with its result; rows without one were not taken. Of a file with a fault none was, unless it was only tried. */
function resultFile(
  { format, header, rows }: FileTable,
  results: ReadonlyMap<number, RowResult>,
  issues: readonly RowIssue[],
): Slice {
  const used = resultColumns.filter(
    name => name === 'ImportResult' || [...results.values()].some(result => result[name] !== undefined),
  );
  const faults = new Map<number, RowIssue[]>();
  for (const issue of issues) faults.set(issue.row, [...(faults.get(issue.row) ?? []), issue]);
  const sent = header.flatMap((name, at) => (resultColumns.some(known => known === name) ? [] : [{ name, at }]));
  return {
    format,
    zone: 'UTC',
    last: true,
    state: { rows: 0, bytes: 0, crc: 0, rawBytes: 0 },
    columns: [...sent.map(({ name }) => name), ...used].map(name => ({ name, kind: 'text' })),
    rows: rows.map(({ row, cells }) => {
      const own = faults.get(row);
      const result: RowResult = own ? { ImportResult: own.map(faultText).join('; ') } : (results.get(row) ?? notTaken);
      return [...sent.map(({ at }) => cells[at] ?? ''), ...used.map(name => result[name] ?? '')];
    }),
  };
}

const notTaken: RowResult = { ImportResult: importResult.notTaken };

const faultText = ({ column, message }: RowIssue): string => (column === '' ? message : `${column} ${message}`);

/** The faults, row by row, in words. */
function reasonOfIssues(issues: readonly RowIssue[]): string {
  const named = issues.slice(0, limits.named).map(issue => `Row ${issue.row}: ${faultText(issue)}`);
  const more = issues.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more: the file names them all`] : [])].join('\n');
}
