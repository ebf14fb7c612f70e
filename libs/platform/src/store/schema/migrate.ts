import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { DataSource, MigrationInterface } from 'typeorm';
import { sqlState } from '../errors.js';
import { primaryOf } from '../pool.js';
import type { Table } from './table.js';

export type Migration = new () => MigrationInterface;

export interface Schema {
  tables: readonly Pick<Table<unknown>, 'table' | 'entity'>[];
  /** In order, forward only; an app's schema number is their count. */
  migrations: readonly Migration[];
  /** The smallest schema number of an app that can still work on this schema (expand, then contract). */
  worksFrom?: number;
}

const LOCK = 7_262_871;

/**
 * A migration runs while the old version serves. It waits for a lock for `lockMs` at most, since whoever comes after it
 * waits behind it, and is rolled back and tried again then, as after a deadlock.
 */
const limits = { lockMs: 2_000, attempts: 30, pauseMs: 500 } as const;
const busy = ['40P01', '55P03'];

/** TypeORM's connection to the database of one service, for migrations and drift checks only. */
export async function connected(url: string, { tables, migrations }: Schema): Promise<DataSource> {
  const { DataSource, EntitySchema } = await import('typeorm');
  return new DataSource({
    type: 'postgres',
    url: await primaryOf(url),
    entities: tables.map(({ entity }) => new EntitySchema(entity)),
    migrations: [...migrations],
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    extra: { max: 2, options: `-c lock_timeout=${limits.lockMs}` },
  }).initialize();
}

/** Brings a database to this schema, as its owner, one process at a time; returns what was run. */
export async function migrate(url: string, service: string, schema: Schema): Promise<string[]> {
  const source = await connected(url, schema);
  const runner = source.createQueryRunner();
  try {
    // another migrate step may take as long as it needs
    await runner.query('set lock_timeout = 0');
    await runner.query('select pg_advisory_lock($1)', [LOCK]);
    const run = await pending(source);
    await runner.query(`set lock_timeout = ${limits.lockMs}`);
    await runner.query(`create table if not exists schema_state
      (only_row boolean primary key default true check (only_row), version integer not null, works_from integer not null)`);
    await runner.query(`grant select on schema_state to ${service}_app`);
    await runner.query(
      `insert into schema_state (version, works_from) values ($1, $2)
       on conflict (only_row) do update set version = $1, works_from = $2 where schema_state.version <= $1`,
      [schema.migrations.length, schema.worksFrom ?? 1],
    );
    return run;
  } finally {
    await runner.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    await runner.release();
    await source.destroy();
  }
}

/** Runs the migrations that have not run, each in a transaction of its own; returns their names. */
async function pending(source: DataSource): Promise<string[]> {
  const known = await source.query('select name from migrations').catch(() => []);
  for (let attempt = 1; ; attempt++) {
    try {
      await source.runMigrations();
      break;
    } catch (error) {
      if (attempt === limits.attempts || !busy.includes(sqlState(error))) throw error;
      await pause(limits.pauseMs);
    }
  }
  const before = new Set(known.map(({ name }: { name: string }) => name));
  const all: { name: string }[] = await source.query('select name from migrations order by id');
  return all.map(({ name }) => name).filter(name => !before.has(name));
}

/** The reason why an app with this schema must not start on that database; undefined if it may. */
export async function schemaProblem(pool: pg.Pool, { migrations }: Schema): Promise<string | undefined> {
  const { rows } = await pool
    .query<{ version: number; works_from: number }>('select version, works_from from schema_state')
    .catch(error => {
      if (error.code === '42P01') return { rows: [] };
      throw error;
    });
  const [state] = rows;
  const own = migrations.length;
  if (!state) return 'the database has no schema yet: run the migrate step first';
  if (state.version < own)
    return `the database is at schema ${state.version}, this app needs ${own}: run the migrate step`;
  if (state.works_from > own)
    return `the database needs an app of schema ${state.works_from} or later, this one has ${own}`;
  return undefined;
}
