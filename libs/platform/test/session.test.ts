import type { Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { begin, createPool, prepared } from '../src/session.js';

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

it('a plan that was made while a table was small is not kept as it grows', async () => {
  const pool = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
  const client = await pool.connect();
  await client.query('create temporary table grown (id integer primary key, name text)');
  await client.query('insert into grown values (1, $1)', ['one']);
  await client.query('analyze grown');
  const byId = prepared('select name from grown where id = $1', [1]);
  const ask = async () => {
    begin(client, 15);
    await client.query(byId);
    await client.query('commit');
  };
  const plan = async () => {
    const { rows } = await client.query(`explain execute "${byId.name}" (1)`);
    return rows.map(row => String(row['QUERY PLAN'])).join('\n');
  };
  for (let time = 0; time < 10; time++) await ask();
  expect(await plan()).toContain('Seq Scan');
  await client.query('insert into grown select at, repeat($1, 100) from generate_series(2, 20000) at', ['x']);
  expect(await plan()).toContain('Seq Scan');
  for (let time = 0; time < 12; time++) await ask();
  expect(await plan()).toContain('Index Scan');
  client.release();
  await pool.end();
});
