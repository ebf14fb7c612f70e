import type pg from 'pg';
import { isConnectionLoss } from '../errors.js';
import { connectionOf, forgetOldPlans, prepared, type Row, runQuery } from '../pool.js';

/**
 * A queue is empty at one time and long at another, and a plan made while it was empty is kept: it reads the whole table
 * and sorts it. With everything but index scans and nested loops turned off, the plan depends on the statement alone, not
 * on statistics. A statement must not need what is turned off, or its plan depends on statistics again.
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

/** Turns everything but index scans off for the statements that follow in the transaction, and on again. */
export const indexOnly = `select ${set(`'off'`)}`;
export const planAsUsual = `select ${set(`'on'`)}`;

const beginIndexOnly = `begin; ${turnedOff.map(name => `set local ${name} = off`).join('; ')}`;

/** Runs a statement as a transaction of its own, planned for indexes alone; in one round trip. */
export async function indexedOn(pool: pg.Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
  const client = await connectionOf(pool);
  forgetOldPlans(client);
  const [begun, asked, committed] = await Promise.allSettled([
    runQuery(client, beginIndexOnly),
    runQuery(client, prepared(text, values)),
    runQuery(client, 'commit'),
  ]);
  const failure = [begun, asked, committed].find(result => result.status === 'rejected');
  client.release(failure && isConnectionLoss(failure.reason));
  if (failure) throw failure.reason;
  return asked.status === 'fulfilled' ? asked.value : [];
}
