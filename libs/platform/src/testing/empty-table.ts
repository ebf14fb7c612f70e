import type { Row } from '../store/pool.js';

export interface Database {
  rows(text: string, values?: unknown[]): Promise<Row[]>;
}

/**
 * Deletes all rows of a table, and waits until no transaction can see them: an index keeps leading to dead rows, and a
 * vacuum keeps them, as long as the snapshot of anyone in the database, such as autovacuum analyzing another table, is
 * older.
 */
export async function emptyTable(database: Database, table: string): Promise<void> {
  const [deletion] = await database.rows(
    `with gone as (delete from ${table} returning 1) select pg_current_xact_id()::text as id, count(*) from gone`,
  );
  const older = `select pid from pg_stat_activity where datname = current_database()
    and greatest(age(backend_xmin), age(backend_xid)) >= age($1::xid)`;
  while ((await database.rows(older, [deletion?.id])).length > 0);
}
