import type pg from 'pg';
import { forgetOldPlans, isConnectionLoss, prepared, type Row } from './session.js';

/**
 * A queue is empty at one time and long at another, and a plan made when it was empty is kept: it reads the whole table
 * and sorts it. With all but index scans and nested loops turned off, the plan depends on the statement alone, not on
 * statistics. What is turned off must not be needed in such a statement, or its plan is chosen by chance again.
 */
const turnedOff = [
  'enable_seqscan',
  'enable_bitmapscan',
  'enable_sort',
  'enable_incremental_sort',
  'enable_hashjoin',
  'enable_mergejoin',
  'jit',
];

const set = (value: string) => turnedOff.map(name => `set_config('${name}', ${value}, true)`).join(', ');

/** Turns all but index scans off for the statements that follow in the transaction, and on again. */
export const indexOnly = `select ${set(`'off'`)}`;
export const planAsUsual = `select ${set(`'on'`)}`;

const begin = `begin; ${turnedOff.map(name => `set local ${name} = off`).join('; ')}`;

/** One statement as a transaction of its own, planned for indexes alone; in one round trip. */
export async function indexedOn(pool: pg.Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
  const client = await pool.connect();
  forgetOldPlans(client);
  const [begun, asked, committed] = await Promise.allSettled([
    client.query(begin),
    client.query<Row>(prepared(text, values)),
    client.query('commit'),
  ]);
  const failure = [begun, asked, committed].find(result => result.status === 'rejected');
  client.release(failure && isConnectionLoss(failure.reason));
  if (failure) throw failure.reason;
  return asked.status === 'fulfilled' ? asked.value.rows : [];
}
