import { fetchExport, type ImportName, listTasks, newImport, type Task } from '@recur/contracts';
import { ask } from '@recur/platform';
import type { TestCaller, TestService } from '@recur/platform/testing';
import { linked } from '../exports/desk.js';
import { csvRows } from '../exports/files.js';
import { filesHere } from '../thread.js';

export type Cells = Readonly<Record<string, string | number>>;

const quoted = (cell: string | number) => `"${String(cell).replaceAll('"', '""')}"`;

/** Rows as a csv file, whose header has every column of any of them. */
export function csvOf(rows: readonly Cells[]): Buffer {
  const header = [...new Set(rows.flatMap(row => Object.keys(row)))];
  const lines = [header, ...rows.map(row => header.map(name => row[name] ?? ''))];
  return Buffer.from(lines.map(line => line.map(quoted).join(',')).join('\r\n'));
}

export interface Outcome extends Task {
  /** The rows of its file by column; none where it has no file. */
  results: Record<string, string>[];
}

/** Imports of a service. */
export function importDesk(t: TestService, caller: TestCaller = {}) {
  filesHere(t);
  const queue = async (task: ImportName, file: Buffer) => {
    const asked = { task, file: { name: 'rows.csv', base64: file.toString('base64') } };
    return (await t.done(newImport, asked, caller)).task;
  };
  const shown = async (id: number): Promise<Task> => {
    const { downloads } = await t.done(listTasks, { count: 1_000 }, caller);
    const task = downloads.find(one => one.id === id);
    if (!task) throw new Error(`task ${id} is not listed`);
    return task;
  };
  const fileOf = async (task: Task): Promise<Buffer> => {
    const asked = { ...linked(task), part: 0 };
    const { base64 } = await ask(t.bus, fetchExport, asked, t.callerOf({ merchantId: 0 }));
    return Buffer.from(base64, 'base64');
  };
  const outcome = async (id: number): Promise<Outcome> => {
    const task = await shown(id);
    if (task.downloadUrl === '') return { ...task, results: [] };
    const [header = [], ...rows] = csvRows(await fileOf(task));
    return { ...task, results: rows.map(row => Object.fromEntries(header.map((name, at) => [name, row[at] ?? '']))) };
  };
  return {
    queue,
    outcome,
    shown,
    fileOf,
    /** Sends rows, or a file, and has them taken. */
    async take(task: ImportName, rows: readonly Cells[] | Buffer): Promise<Outcome> {
      const { id } = await queue(task, Buffer.isBuffer(rows) ? rows : csvOf(rows));
      await t.work.drain();
      return outcome(id);
    },
  };
}
