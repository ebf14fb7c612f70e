import type { Tx } from '@recur/platform';

const off = (...names: string[]) => `select ${names.map(name => `set_config('${name}', 'off', true)`).join(', ')}`;
const noScans = off('enable_seqscan', 'enable_bitmapscan');
const noLoops = off('enable_nestloop');
const loops = `select set_config('enable_nestloop', 'on', true)`;

/**
 * Restricts the transaction to index scans. Statements are planned once per connection, perhaps while `due` is empty: the
 * planner would then choose a sequential scan, which reads the whole backlog for every batch once there is one. Sent
 * without waiting, in front of the statements that it applies to.
 */
export async function onlyIndexScans(tx: Tx): Promise<void> {
  await tx.run(noScans, []);
}

/**
 * Runs a statement that joins a batch to rows found by their ids. The join is hashed: when both sides are estimated to be
 * tiny, the planner would compare each row with each.
 */
export async function runHashed(tx: Tx, statement: string, values: readonly unknown[]): Promise<void> {
  await Promise.all([tx.run(noLoops, []), tx.run(statement, values), tx.run(loops, [])]);
}
