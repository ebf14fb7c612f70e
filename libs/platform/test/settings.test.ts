import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { document, flag, int, integer, secureV1, settings, table } from '../src/index.js';
import { type TestService, testService } from '../src/testing/index.js';
import { sample } from './sample.js';

interface Tints {
  merchantId: number;
  depth: number;
  isBright: boolean;
  names: string[];
}

const tints = table<Tints>('tints', {
  key: ['merchantId'],
  columns: { merchantId: integer(), depth: int(), isBright: flag(), names: document<string[]>() },
});

const ofTints = settings(tints, { depth: 3, isBright: true, names: ['red'] });

class Tints1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table tints (merchant_id bigint not null, depth integer not null, is_bright boolean not null,
      names jsonb not null, constraint tints_pkey primary key (merchant_id))`);
    await runner.query(secureV1('tints'));
    await runner.query('grant select, insert, update, delete on tints to catalog_app');
  }
  async down(): Promise<void> {}
}

const { tables, migrations } = sample.schema;
const service = { ...sample, schema: { tables: [...tables, tints], migrations: [...migrations, Tints1700000000002] } };

let t: TestService;
beforeAll(async () => {
  t = await testService(service);
});
afterAll(() => t.close());

const read = (merchantId: number) => t.db.read(t.callerOf({ merchantId }), reader => ofTints.of(reader));
const change = (merchantId: number, given: Parameters<typeof ofTints.change>[1]) =>
  t.db.write(t.callerOf({ merchantId }), async tx => {
    const changed = await ofTints.change(tx, given);
    tx.log('Tints', 'Update');
    return changed;
  });
const rows = (merchantId: number) =>
  t.rows('select depth, is_bright, names from tints where merchant_id = $1', [merchantId]);

it('are the defaults for a merchant that has changed none, in reads and in both ways to write', async () => {
  const defaults = { merchantId: 31, depth: 3, isBright: true, names: ['red'] };
  expect(await read(31)).toEqual(defaults);
  expect(await t.db.write(t.callerOf({ merchantId: 31 }), tx => ofTints.of(tx))).toEqual(defaults);
  expect(await t.db.append(t.callerOf({ merchantId: 31 }), appender => ofTints.of(appender))).toEqual(defaults);
  expect(await rows(31)).toEqual([]);
});

it('keep what a change does not name, for its merchant alone', async () => {
  expect(await change(32, { depth: 7 })).toEqual({ merchantId: 32, depth: 7, isBright: true, names: ['red'] });
  expect(await change(32, { names: ['blue', 'green'] })).toMatchObject({ depth: 7, names: ['blue', 'green'] });
  expect(await read(32)).toEqual({ merchantId: 32, depth: 7, isBright: true, names: ['blue', 'green'] });
  expect(await read(33)).toMatchObject({ depth: 3, names: ['red'] });
});

it('write nothing, and need no log entry, where a change leaves them as they were', async () => {
  const same = await t.db.write(t.callerOf({ merchantId: 34 }), tx => ofTints.change(tx, { depth: 3, names: ['red'] }));
  expect(same).toEqual({ merchantId: 34, depth: 3, isBright: true, names: ['red'] });
  expect(await rows(34)).toEqual([]);
});

it('keep both of two first changes at once: the second runs again', async () => {
  let runs = 0;
  let meet: () => void = () => undefined;
  const bothRan = new Promise<void>(resolve => {
    meet = resolve;
  });
  const first = (given: Parameters<typeof ofTints.change>[1]) =>
    t.db.write(t.callerOf({ merchantId: 35 }), async tx => {
      const changed = await ofTints.change(tx, given);
      tx.log('Tints', 'Update');
      // neither commits before both have found no row
      if (++runs === 2) meet();
      await bothRan;
      return changed;
    });
  await Promise.all([first({ depth: 9 }), first({ isBright: false })]);
  expect(runs).toBe(3);
  expect(await rows(35)).toEqual([{ depth: 9, is_bright: false, names: ['red'] }]);
});

it('keep both of two later changes at once: the row is locked', async () => {
  await change(36, { depth: 1 });
  await Promise.all([change(36, { depth: 2 }), change(36, { isBright: false }), change(36, { names: [] })]);
  expect(await rows(36)).toEqual([{ depth: 2, is_bright: false, names: [] }]);
});
