import {
  type CellKind,
  type ImportColumn,
  type ImportRow,
  type ImportTask,
  importColumns,
  type RowIssue,
} from '@recur/contracts';
import type { FileTable } from '../format/slice.js';

/** A row of an import, numbered as in its file. */
export interface AskedRow<T extends ImportTask> {
  row: number;
  fields: ImportRow<T>;
}

/** Columns that results have beside those that were sent: no effect in a file that is sent again. */
export const resultColumns = [
  'ImportResult',
  'UserId',
  'SubscriptionId',
  'NextInvoiceTime',
  'NextInvoiceTotal',
  'NextInvoiceDiscount',
  'NextInvoiceTax',
  'NextInvoiceCurrency',
] as const;

/** The rows of a table, and what is wrong with its header and with cells; without an issue every row is of its shape. */
export function rowsIn<T extends ImportTask>(
  task: T,
  { header, rows }: FileTable,
): { rows: AskedRow<T>[]; issues: RowIssue[] } {
  const columns = importColumns(task);
  const named = header.map(name => columnNamed(columns, name));
  const issues = headerIssues(task, header, named);
  const asked = rows.map(({ row, cells }) => {
    const fields: Record<string, unknown> = {};
    for (const [at, name] of named.entries()) {
      const [cell = '', column] = [cells[at], columns[name ?? '']];
      if (name === undefined || column === undefined) continue;
      const { read, rule } = readings[column.is];
      const value = cell === '' ? undefined : read(cell);
      if (value !== undefined) fields[name] = value;
      else if (cell !== '' || column.required)
        issues.push({ row, column: name, message: cell === '' ? 'is required' : rule });
    }
    return { row, fields: fields as ImportRow<T> };
  });
  if (rows.length === 0) issues.push({ row: 1, column: '', message: 'There are no rows below the header' });
  return { rows: asked, issues };
}

function headerIssues(task: ImportTask, header: readonly string[], named: readonly (string | undefined)[]): RowIssue[] {
  const columns = importColumns(task);
  const issues: RowIssue[] = [];
  for (const [at, name] of header.entries()) {
    const column = named[at];
    if (column === undefined && !resultColumns.some(known => columnKey(known) === columnKey(name))) {
      const message = `is no column of ${task}: those are ${Object.keys(columns).join(', ')}`;
      issues.push({ row: 1, column: name, message });
    }
    if (column !== undefined && named.indexOf(column) < at)
      issues.push({ row: 1, column: name, message: 'is there twice' });
  }
  const missing = Object.entries(columns).filter(([name, { required }]) => required && !named.includes(name));
  return [...issues, ...missing.map(([column]) => ({ row: 1, column, message: 'is required: the header lacks it' }))];
}

const columnNamed = (columns: Readonly<Record<string, ImportColumn>>, header: string): string | undefined =>
  Object.keys(columns).find(name =>
    [name, ...(columns[name]?.or ?? [])].some(known => columnKey(known) === columnKey(header)),
  );

/** A header without case, spaces, and a remark in brackets: `Stripe User Id (Auto-Charge Required)` is StripeUserId. */
const columnKey = (header: string): string =>
  header
    .replace(/\(.*\)/, '')
    .replace(/[\s_-]/g, '')
    .toLowerCase();

interface CellReading {
  /** The value of a cell; undefined where it breaks the rule. */
  read(cell: string): unknown;
  rule: string;
}

const flags: Readonly<Record<string, boolean>> = { yes: true, true: true, 1: true, no: false, false: false, 0: false };

const readings: Readonly<Record<CellKind, CellReading>> = {
  text: {
    read: cell => (cell.length <= 255 && !/\p{Cc}/u.test(cell) ? cell : undefined),
    rule: 'must have at most 255 characters, none of them a control character',
  },
  integer: {
    read: cell => (/^[1-9]\d{0,14}$/.test(cell) ? Number(cell) : undefined),
    rule: 'must be a whole number of at least 1',
  },
  amount: {
    read: cell => (/^\d{1,12}(\.\d{1,4})?$/.test(cell) ? cell : undefined),
    rule: 'must be an amount such as 12.34',
  },
  percentage: {
    read: cell =>
      /^(\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%?$/.test(cell) ? basisPointsOf(cell.replace('%', '')) : undefined,
    rule: 'must be a percentage from 0 to 100 such as 8.25',
  },
  time: { read: timeIn, rule: 'must be a time in UTC such as 2026-01-31 09:30:00' },
  flag: { read: cell => flags[cell.toLowerCase()], rule: 'must be yes or no' },
  json: { read: jsonIn, rule: 'must be JSON' },
};

function basisPointsOf(percentage: string): number {
  const [whole, decimals = ''] = percentage.split('.');
  return Number(`${whole}${decimals.padEnd(2, '0')}`);
}

function timeIn(cell: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?$/.exec(cell);
  if (!match) return undefined;
  const [, day, time = '00:00:00'] = match;
  const text = `${day}T${time}`;
  const milliseconds = Date.parse(`${text}Z`);
  const isReal = !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(text);
  return isReal && milliseconds > 0 ? milliseconds / 1_000 : undefined;
}

function jsonIn(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return undefined;
  }
}
