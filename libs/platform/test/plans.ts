import type pg from 'pg';
import { indexOnly } from '../src/store/due/indexed.js';

/** A statement, typical values, and the pages that it may touch, whatever is in the table. */
export type Measured = readonly [text: string, values: readonly unknown[], pages: number];

interface Node {
  'Node Type': string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

const plainOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value))
    return `array[${value.map(plainOf).join()}]${typeof value[0] === 'number' ? '' : '::text[]'}`;
  return typeof value === 'number' ? String(value) : `'${value}'`;
};
const call = (name: string, values: readonly unknown[]) =>
  values.length === 0 ? name : `${name}(${values.map(plainOf).join()})`;

/** Plans statements as `db.queryIndexOnly` does, and for good. */
export async function prepareAll(client: pg.Client, statements: Readonly<Record<string, Measured>>): Promise<void> {
  await client.query('set plan_cache_mode = force_generic_plan');
  await client.query('begin');
  await client.query(indexOnly);
  for (const [name, [text, values]] of Object.entries(statements)) {
    await client.query(`prepare ${name} as ${text}`);
    // this makes the plan that is kept
    await client.query(`execute ${call(name, values)}`);
  }
  await client.query('rollback');
}

async function look(client: pg.Client, name: string, values: readonly unknown[]): Promise<Node> {
  await client.query('begin');
  await client.query(indexOnly);
  const { rows } = await client.query(`explain (analyze, buffers, format json) execute ${call(name, values)}`);
  await client.query('rollback');
  return rows[0]['QUERY PLAN'][0].Plan;
}

const nodesOf = (node: Node): string[] => [node['Node Type'], ...(node.Plans ?? []).flatMap(nodesOf)];

/** Faults of the plans: steps that read or sort a whole table, and pages beyond the limits. */
export async function tooCostly(
  client: pg.Client,
  statements: Readonly<Record<string, Measured>>,
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const [name, [, values, pages]] of Object.entries(statements)) {
    // what was deleted is passed over once, and then no more
    await look(client, name, values);
    const plan = await look(client, name, values);
    const touched = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    const scans = nodesOf(plan).filter(node => /^(Seq Scan|Sort|Hash Join|Bitmap)/.test(node));
    if (scans.length > 0 || touched > pages) found.push({ name, scans, touched, pages });
  }
  return found;
}
