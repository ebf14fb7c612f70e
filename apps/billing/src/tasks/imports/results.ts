import { importResult, type RowIssue } from '@recur/contracts';
import type { Slice } from '../format/slice.js';
import type { FileTable } from '../format/table.js';
import { resultColumns } from './cells.js';

/** Issues that a task's reason names. */
const limits = { named: 20 } as const;

/** The outcome of a row: its cells of `resultColumns`, by name. */
export type RowResult = Partial<Record<(typeof resultColumns)[number], string>>;

/** The rows as they were sent, each with its result; rows without one were not taken. Of a file with a fault none was, unless it was only tried. */
export function resultFile(
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
export function reasonOf(issues: readonly RowIssue[]): string {
  const named = issues.slice(0, limits.named).map(issue => `Row ${issue.row}: ${faultText(issue)}`);
  const more = issues.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more: the file names them all`] : [])].join('\n');
}
