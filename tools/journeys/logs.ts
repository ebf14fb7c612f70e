import { createHash } from 'node:crypto';
import { services } from '@recur/contracts';
import type { Ask, Row } from './ask.js';

// Rules of the oracle for the operation log.

/** Every entry that was emitted is in it once. */
export async function entries(ask: Ask): Promise<string[]> {
  const counts = new Map<string, number>();
  const count = (row: Row, by: number) => {
    const key = [row.merchant_id, row.at, row.target, row.content, row.account].join(' ');
    counts.set(key, (counts.get(key) ?? 0) + by);
  };
  const logged = `select merchant_id, create_time as at, opt_target as target, opt_content as content,
    opt_account_id as account from operation_logs`;
  for (const row of await ask('identity', logged)) count(row, -1);
  for (const service of services) {
    const emitted = `select merchant_id, envelope::json->>'at' as at, envelope::json->'data'->>'target' as target,
      envelope::json->'data'->>'content' as content, envelope::json->'data'->'actor'->>'id' as account
      from outbox where type = 'operation.logged'`;
    for (const row of await ask(service, emitted)) count(row, 1);
  }
  return [...counts]
    .filter(([, difference]) => difference !== 0)
    .map(([entry, difference]) => `the operation log has ${difference > 0 ? 'too few' : 'too many'} of: ${entry}`);
}

/** Hashed columns of an entry, in order; bigint columns come as text. */
const fields: readonly [column: string, read: (value: unknown) => unknown][] = [
  ['merchant_id', Number],
  ['n', Number],
  ['id', Number],
  ['create_time', Number],
  ['opt_account_type', Number],
  ['opt_account_id', String],
  ['opt_account', String],
  ['member_id', Number],
  ['opt_target', String],
  ['opt_content', String],
  ['user_id', Number],
  ['plan_id', Number],
  ['invoice_id', String],
  ['subscription_id', String],
  ['discount_code', String],
];

/** Each merchant's entries are a chain, computed here anew, and its head is the last of them. Who signed it is not known here. */
export async function chains(ask: Ask): Promise<string[]> {
  const rows = await ask(
    'identity',
    `select l.*, coalesce(l.merchant_id, h.merchant_id) as of, h.n as head_n, h.hash as head_hash
     from operation_logs l full join operation_log_heads h on h.merchant_id = l.merchant_id order by "of", l.n`,
  );
  const findings: string[] = [];
  let before = { of: '', n: 0, hash: '' };
  for (const [at, row] of rows.entries()) {
    const of = String(row.of);
    const { n, hash } = before.of === of ? before : { n: 0, hash: '' };
    const expected = createHash('sha256').update(
      hash + JSON.stringify(fields.map(([column, read]) => read(row[column]))),
    );
    const entry = `entry ${row.n} of merchant ${of} in the operation log`;
    if (Number(row.n) !== n + 1) findings.push(`${entry} stands after entry ${n}`);
    else if (row.hash !== expected.digest('base64url')) findings.push(`${entry} is not as it was written`);
    before = { of, n: Number(row.n), hash: String(row.hash) };
    const isLast = String(rows[at + 1]?.of) !== of;
    if (isLast && (Number(row.head_n) !== before.n || row.head_hash !== before.hash)) {
      findings.push(`${entry} is the last, its head is at ${row.head_n ?? 'none'}`);
    }
  }
  return findings;
}
