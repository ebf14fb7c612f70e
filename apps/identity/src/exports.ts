import { Controller } from '@nestjs/common';
import { cellsOf, type ExportFilters, exportFilters, exportRows, type In, type Out } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { exportedEntries } from './operation-log/exported.js';
import { exportedUsers } from './users/exported.js';

/** Rows for the exports of users and of the operation log; billing writes the files. */
@Controller()
export class Exports {
  constructor(private readonly db: Db) {}

  @Handle(exportRows)
  async rows(input: In<typeof exportRows>, caller: Caller): Promise<Out<typeof exportRows>> {
    const { task, payload, columns, after, count } = input;
    const at = { after, count };
    if (task === 'UserExport') {
      const { rows, next } = await exportedUsers(this.db, caller, filtersOf(task, payload), at);
      return { rows: cellsOf(rows, columns), next };
    }
    if (task !== 'OperationLogExport') throw new Error(`identity has no rows for ${task}`);
    const { rows, next } = await exportedEntries(this.db, caller, filtersOf(task, payload), at);
    return { rows: cellsOf(rows, columns), next };
  }
}

/** Throws Rejected `invalid_parameters` for filters that the list does not take. */
function filtersOf<T extends 'UserExport' | 'OperationLogExport'>(
  task: T,
  payload: Readonly<Record<string, unknown>>,
): ExportFilters<T> {
  const filters = exportFilters(task, payload);
  if (!filters.ok) throw new Rejected('invalid_parameters', undefined, filters.issues);
  return filters.value;
}
