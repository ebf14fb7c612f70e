import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrate, type Schema, type TestService, testService } from '../src/testing/index.js';
import { sample } from './sample.js';

let service: TestService;
let client: pg.Client;
let url: string;

class Shade1800000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table things add column shade text');
  }

  async down(): Promise<void> {}
}

class Wrong1800000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table things add column shade text');
  }

  async down(): Promise<void> {}
}

const withMore = (...more: Schema['migrations']): Schema => ({
  ...sample.schema,
  migrations: [...sample.schema.migrations, ...more],
});

beforeAll(async () => {
  service = await testService(sample);
  client = await service.owner();
  const { user, password, host, port, database } = client;
  url = `postgres://${user}:${password}@${host}:${port}/${database}`;
});
afterAll(async () => {
  await client.end();
  await service.close();
});

it('a migration gives way to whoever holds its table, and is tried again until it has its turn', async () => {
  await client.query('begin; lock table things in access share mode');
  let done = false;
  const migrating = migrate(url, sample.name, withMore(Shade1800000000001)).finally(() => {
    done = true;
  });
  const waits = `select count(*) as waiting from pg_locks where relation = 'things'::regclass and not granted`;
  const waiting = async () => Number((await client.query(waits)).rows[0]?.waiting) > 0;
  // it waits, gives up, so that others go ahead, and waits again
  for (const wanted of [true, false, true]) while ((await waiting()) !== wanted) expect(done).toBe(false);
  await client.query('commit');
  expect(await migrating).toEqual(['Shade1800000000001']);
  expect(await migrate(url, sample.name, withMore(Shade1800000000001))).toEqual([]);
});

it('a migration that is wrong is not tried again', async () => {
  const wrong = migrate(url, sample.name, withMore(Shade1800000000001, Wrong1800000000002));
  await expect(wrong).rejects.toThrow('already exists');
});
