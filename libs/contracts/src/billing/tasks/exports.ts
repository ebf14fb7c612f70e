import type { z } from 'zod';
import { currencies } from '../../catalog/currencies.js';
import type { CodeTable } from '../../codes.js';
import { ignoredFields, type Validated, validate } from '../../validate.js';

import { type ColumnKind, exportKinds } from './export-kinds.js';

export type ExportTask = keyof typeof exportKinds;
export const exportTasks = Object.keys(exportKinds) as [ExportTask, ...ExportTask[]];

/** All columns of an export by name, in order. */
export const exportColumns = (task: ExportTask): Readonly<Record<string, ColumnKind>> =>
  Object.assign({}, ...Object.values<Readonly<Record<string, ColumnKind>>>(exportKinds[task].groups));

type Columns<G> = { [K in keyof G]: keyof G[K] }[keyof G];
/** A row of an export by column; '' and 0 for what there is none of. */
export type ExportRow<T extends ExportTask> = Record<
  Columns<(typeof exportKinds)[T]['groups']> & string,
  string | number
>;

type ListOf<T extends ExportTask> = (typeof exportKinds)[T]['list'];
/** The filters of an export, as its list takes them. */
export type ExportFilters<T extends ExportTask> = z.output<ListOf<T>['input']>;

/** Fields of lists that say nothing about which rows are exported. */
const ofPages = ['page', 'count', 'sortField', 'sortType'];

/** The filters in the payload of an export; an unknown one is an issue, since it would filter nothing. */
export function exportFilters<T extends ExportTask>(
  task: T,
  { timezone: _, ...payload }: Readonly<Record<string, unknown>>,
): Validated<ExportFilters<T>> {
  const sent = Object.fromEntries(Object.entries(payload).filter(([name]) => !ofPages.includes(name)));
  const input: z.ZodType = exportKinds[task].list.input;
  const checked = validate(input, sent);
  const issues = checked.ok ? ignoredFields(sent, checked.value) : checked.issues;
  if (checked.ok && issues.length === 0) return { ok: true, value: checked.value as ExportFilters<T> };
  const within = issues.map(({ path, message }) => ({ path: `/payload${path}`, message: `payload.${message}` }));
  return { ok: false, issues: within.map(issue => ({ ...issue, message: ofFilter(issue.message) })) };
}

const ofFilter = (message: string) =>
  message.replace('is not a field of this operation', 'is not a filter of this export');

/** A number of units of which a whole has 10^places, as a decimal. */
const decimal = (units: bigint | number, places: number): number => Number(`${units}e-${places}`);

/** An amount in major units: 1234 in EUR is 12.34. As it is where there is no currency. */
export const majorUnits = (minor: bigint | number, currency: string): number =>
  decimal(minor, currencies.get(currency) ?? 0);

/** Basis points as a percentage: 825 is 8.25. */
export const percentText = (basisPoints: number): string => String(decimal(basisPoints, 2));

/** The name of a code; '' for an unknown one. */
export const nameOfCode = (table: CodeTable, code: number): string =>
  Object.keys(table).find(name => table[name] === code) ?? '';

/** Cells of rows, in the order of the columns. */
export const cellsOf = <T extends ExportTask>(
  rows: readonly ExportRow<T>[],
  columns: readonly string[],
): (string | number)[][] => rows.map(row => columns.map(name => (row as Record<string, string | number>)[name] ?? ''));
