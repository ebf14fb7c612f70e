import { setTimeout as pause } from 'node:timers/promises';
import { type Client, orThrow } from '@recur/client';
import { DRY, type ImportName, importLimits, importResult, taskStatus } from '@recur/contracts';
import { parse } from 'csv-parse/sync';
import { Failure } from '../local/failure.js';
import type { Row } from './moved.js';

const limits = { bytes: 600_000, betweenMs: 300 } as const;

/**
 * Sends rows as imports, in as many files as they need. Returns the rows of their results, in the order of the rows.
 * @throws Failure where a file is refused, if it was to be taken, or where none of its rows was judged.
 */
export async function sent(api: Client, task: ImportName, rows: readonly Row[]): Promise<Row[]> {
  const results: Row[] = [];
  for (const file of filesOf(rows)) results.push(...(await taken(api, task, file)));
  return results;
}

/** CSV files of at most so many rows and bytes, each with a header of all columns. */
function filesOf(rows: readonly Row[]): string[] {
  const names = [...new Set(rows.flatMap(row => Object.keys(row)))];
  const header = lineOf(names);
  const files: string[] = [];
  let [file, count] = [header, 0];
  for (const row of rows) {
    const line = lineOf(names.map(name => row[name] ?? ''));
    if (count === importLimits.rows || (count > 0 && file.length + line.length > limits.bytes)) {
      files.push(file);
      [file, count] = [header, 0];
    }
    file += line;
    count++;
  }
  return count > 0 ? [...files, file] : files;
}

const lineOf = (cells: readonly string[]) => `${cells.map(cell => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`;

/** True for a row that was not looked at, since others of its file were refused. */
export const isUnjudged = ({ ImportResult }: Row): boolean => ImportResult === importResult.notTaken;

async function taken(api: Client, task: ImportName, file: string): Promise<Row[]> {
  const base64 = Buffer.from(file).toString('base64');
  const begun = orThrow(await api.post('/merchant/task/new_import', { task, file: { name: 'stripe.csv', base64 } }));
  for (;;) {
    const { downloads } = orThrow(await api.get('/merchant/task/list', { count: 100 }));
    const found = downloads.find(({ id }) => id === begun.task.id);
    if (found && found.status >= taskStatus.done) {
      const isRefused = found.status === taskStatus.failed && !task.endsWith(DRY);
      if (found.downloadUrl === '' || isRefused) throw new Failure(`${task} was refused: ${found.failureReason}`);
      const answer = await fetch(found.downloadUrl);
      if (!answer.ok) throw new Failure(`the results of ${task} cannot be read: HTTP ${answer.status}`, 69);
      const results: Row[] = parse(Buffer.from(await answer.arrayBuffer()), { bom: true, columns: true });
      if (results.every(isUnjudged)) throw new Failure(`${task} was refused: ${found.failureReason}`);
      return results;
    }
    await pause(limits.betweenMs);
  }
}
