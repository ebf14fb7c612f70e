import type { Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { createPool } from '../src/session.js';

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
