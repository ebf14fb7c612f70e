import { type ExportTask, exportColumns, exportFilters, isTimeZone } from '@recur/contracts';
import { Rejected } from '@recur/kernel';

/** Settings that decide the content of an export. */
export interface ExportSettings {
  task: ExportTask;
  payload: Readonly<Record<string, unknown>>;
  /** None: all. */
  exportColumns: readonly string[];
}

/** Throws Rejected `invalid_parameters`, naming every filter, zone and column that the export does not have. */
export function assertExportable({ task, payload, exportColumns: columns }: ExportSettings): void {
  const filters = exportFilters(task, payload);
  const known = exportColumns(task);
  const issues = [...(filters.ok ? [] : filters.issues)];
  const { timezone } = payload;
  if (timezone !== undefined && timezone !== '' && !(typeof timezone === 'string' && isTimeZone(timezone))) {
    issues.push({
      path: '/payload/timezone',
      message: 'payload.timezone must be an IANA time zone, such as Europe/Berlin',
    });
  }
  for (const [at, name] of columns.entries()) {
    const wrong = !Object.hasOwn(known, name)
      ? `is no column of ${task}`
      : columns.indexOf(name) < at
        ? 'repeats a column'
        : '';
    if (wrong) issues.push({ path: `/exportColumns/${at}`, message: `exportColumns[${at}] ${wrong}` });
  }
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
}

/** The zone in which an export writes times. */
export const zoneOf = ({ timezone }: Readonly<Record<string, unknown>>): string => String(timezone || 'UTC');
