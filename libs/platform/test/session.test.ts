import type { Socket } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import { createPool, prepared } from '../src/store/pool.js';
import { begin, Session } from '../src/store/session.js';

it('queries of one turn reach the database in one piece', async () => {
  const pool = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
  const client = await pool.connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  let pieces = 0;
  for (const name of ['_write', '_writev'] as const) {
    const send = stream[name] as (...values: unknown[]) => void;
    stream[name] = (...values: unknown[]) => {
      pieces++;
      send.apply(stream, values);
    };
  }
  const numbers = ['1', '2', '3'];
  const asked = numbers.map(number => client.query({ name: 'echo', text: 'select $1 as number', values: [number] }));
  const answers = await Promise.all([client.query('begin'), ...asked, client.query('commit')]);
  expect(answers.flatMap(({ rows }) => rows)).toEqual(numbers.map(number => ({ number })));
  expect(pieces).toBe(1);
  client.release();
  await pool.end();
});

it('a part of a command that goes on after its end begins no transaction', async () => {
  const pool = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
  for (const end of ['rollback', 'commit'] as const) {
    const session = new Session(pool, 15);
    const before = session.query('select 1 as one', []);
    await (end === 'commit' ? session.commit([]) : session.rollback());
    expect(await before).toEqual([{ one: 1 }]);
    await expect(session.query('select 1 as one', [])).rejects.toThrow('The transaction is over');
    expect([pool.idleCount, pool.totalCount]).toEqual([1, 1]);
  }
  const refused = new Session(pool, 15);
  await refused.rollback();
  await expect(refused.open()).rejects.toThrow('The transaction is over');
  await pool.end();
});

it('a plan that was made while a table was small is not kept as it grows, however much else was asked before', async () => {
  const now = jest.spyOn(performance, 'now');
  for (let time = 0; time < 1_000; time++) prepared('select 1', []);
  const pool = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
  const client = await pool.connect();
  await client.query('create temporary table grown (id integer primary key, name text)');
  await client.query('insert into grown values (1, $1)', ['one']);
  await client.query('analyze grown');
  const byId = () => prepared('select name from grown where id = $1', [1]);
  const ask = async () => {
    begin(client, 15);
    await client.query(byId());
    await client.query('commit');
  };
  const plan = async () => {
    const { rows } = await client.query(`explain execute "${byId().name}" (1)`);
    return rows.map(row => String(row['QUERY PLAN'])).join('\n');
  };
  for (let time = 0; time < 10; time++) await ask();
  expect(await plan()).toContain('Seq Scan');
  await client.query('insert into grown select at, repeat($1, 100) from generate_series(2, 20000) at', ['x']);
  expect(await plan()).toContain('Seq Scan');
  now.mockReturnValue(performance.now() + 1_000);
  for (let time = 0; time < 12; time++) await ask();
  expect(await plan()).toContain('Index Scan');
  now.mockRestore();
  client.release();
  await pool.end();
});

it('a key is found by its index where the statistics do not know the merchant', async () => {
  const pool = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
  const client = await pool.connect();
  await client.query(
    `create temporary table held (merchant_id bigint, id text, line integer, primary key (merchant_id, id, line))`,
  );
  await client.query('create index held_line on held (merchant_id, line)');
  const fill = (merchants: string) =>
    client.query(
      `insert into held select m, 'key' || m || 'x' || at, at from generate_series(${merchants}) m, generate_series(1, 5000) at`,
    );
  await fill('1, 4');
  await client.query('analyze held');
  await fill('5, 5');
  const one = prepared('select * from held where merchant_id = $1 and id = $2', [5, 'key5x1']);
  expect((await client.query(one)).rows).toHaveLength(1);
  client.release();
  const session = new Session(pool, 5);
  await session.open();
  const explain = `explain (analyze) execute "${one.name}" (5, 'key5x1')`;
  // what is asked once is planned by its values, here for the worse; what comes after it is not
  const [byValues, plan] = await Promise.all([session.queryUnprepared(explain, []), session.query(explain, [])]);
  expect(JSON.stringify(byValues)).toContain('held_line');
  expect(JSON.stringify(plan)).toContain('held_pkey');
  expect(JSON.stringify(plan)).not.toContain('Rows Removed');
  await session.rollback();
  await pool.end();
});
