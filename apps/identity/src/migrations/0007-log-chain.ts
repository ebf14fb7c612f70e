import { createHmac, hash as digest, hkdfSync } from 'node:crypto';
import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const page = 1_000;

/** A row of operation_logs; the driver returns bigint columns as text. */
interface Entry extends Record<string, string | number> {
  id: string;
}

/**
 * Turns the operation log into an append-only hash chain per merchant. Existing entries are chained in the order they
 * were written, and the heads are signed: `migrate` runs with the service's settings, SECRET_KEYS among them.
 *
 * operation_log_tallies: the number of entries per member and per user, so that a list filtered by names knows its total
 * in advance. A merchant's batches are written one at a time, under the lock of its head.
 */
export class LogChain1763683200007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of before) await runner.query(statement);
    const merchants = await runner.query('select distinct merchant_id from operation_logs');
    for (const { merchant_id } of merchants) await chain(runner, Number(merchant_id));
    for (const statement of after) await runner.query(statement);
    for (const name of ['operation_log_heads', 'operation_log_tallies']) await runner.query(secureV1(name));
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

async function chain(runner: QueryRunner, merchantId: number): Promise<void> {
  let [n, id, hash] = [0, 0, ''];
  for (let full = true; full; ) {
    const rows: Entry[] = await runner.query(
      `select * from operation_logs where merchant_id = $1 and id > $2 order by id limit ${page}`,
      [merchantId, id],
    );
    const chained = rows.map(row => {
      hash = hashOf(hash, row, ++n);
      id = Number(row.id);
      return { id, n, hash };
    });
    await runner.query(
      `update operation_logs l set n = r.n, hash = r.hash from json_to_recordset($2::json) r(id bigint, n bigint, hash text)
       where l.merchant_id = $1 and l.id = r.id`,
      [merchantId, JSON.stringify(chained)],
    );
    full = rows.length === page;
  }
  const head = JSON.stringify(['operation_log_heads', merchantId, n, hash]);
  await runner.query('insert into operation_log_heads values ($1, $2, $3, $4)', [merchantId, n, hash, signed(head)]);
}

// Chain and signature have the format of this migration's time, copied here so that later changes leave it as it is.

/** SHA-256 (base64url) of the previous hash followed by the entry's fields as a JSON array. */
function hashOf(previous: string, row: Entry, n: number): string {
  const fields = [
    Number(row.merchant_id),
    n,
    Number(row.id),
    Number(row.create_time),
    row.opt_account_type,
    row.opt_account_id,
    row.opt_account,
    Number(row.member_id),
    row.opt_target,
    row.opt_content,
    Number(row.user_id),
    Number(row.plan_id),
    row.invoice_id,
    row.subscription_id,
    row.discount_code,
  ];
  return digest('sha256', previous + JSON.stringify(fields), 'base64url');
}

/** `s1.<key id>.<HMAC-SHA-256>` (base64url) by a key derived from the first of SECRET_KEYS (`<id>:<base64>`). */
function signed(text: string): string {
  const [first = ''] = (process.env.SECRET_KEYS ?? '').split(',');
  if (!first) throw new Error('SECRET_KEYS is missing: it signs the heads of the operation log');
  const colon = first.indexOf(':');
  const key = hkdfSync('sha256', Buffer.from(first.slice(colon + 1), 'base64'), '', 'recur signature v1', 32);
  return `s1.${first.slice(0, colon)}.${createHmac('sha256', Buffer.from(key)).update(text).digest('base64url')}`;
}

const before = [
  `create table operation_log_heads (
    merchant_id bigint not null, n bigint not null, hash text not null, signature text not null,
    constraint operation_log_heads_pkey primary key (merchant_id))`,
  `grant select, insert, update on operation_log_heads to identity_app`,
  `revoke delete, truncate on operation_log_heads from identity_app`,
  `alter table operation_logs add column n bigint, add column hash text`,
  `alter table operation_logs no force row level security`,
];
const tally = `insert into operation_log_tallies (merchant_id, kind, id, n)
  select merchant_id, kind, of.id, count(*) from made
    cross join lateral (values ('all', 0), ('member', member_id), ('user', user_id)) of (kind, id)
  where kind = 'all' or of.id <> 0 group by 1, 2, 3 order by 1, 2, 3`;

const after = [
  `create table operation_log_tallies (
    merchant_id bigint not null, kind text not null, id bigint not null, n bigint not null,
    constraint operation_log_tallies_pkey primary key (merchant_id, kind, id))`,
  `grant select, insert, update on operation_log_tallies to identity_app`,
  `with made as (select merchant_id, member_id, user_id from operation_logs) ${tally}`,
  `create function operation_log_tallies_keep() returns trigger language plpgsql as $$ begin
    ${tally} on conflict (merchant_id, kind, id) do update set n = operation_log_tallies.n + excluded.n;
    return null;
  end $$`,
  `create trigger operation_log_tallies_keep after insert on operation_logs referencing new table as made
    for each statement execute function operation_log_tallies_keep()`,
  `drop index operation_logs_newest`,
  `create index operation_logs_newest on operation_logs (merchant_id, create_time, id, member_id, user_id)`,
  `alter table operation_logs force row level security`,
  `alter table operation_logs alter column n set not null, alter column hash set not null,
    add constraint operation_logs_n check (n > 0)`,
  `create unique index operation_logs_chain on operation_logs (merchant_id, n)`,
  `revoke update, delete, truncate on operation_logs from identity_app`,
  // an older app that still runs must retry, not give up: it treats this as a serialization failure
  `create function operation_logs_chained() returns trigger language plpgsql as $$ begin
    raise exception 'an entry of an app that is older than the chain' using errcode = 'serialization_failure';
  end $$`,
  `create trigger operation_logs_chained before insert on operation_logs
    for each row when (new.n is null) execute function operation_logs_chained()`,
  `create function operation_logs_keep() returns trigger language plpgsql as $$ begin
    raise exception 'the operation log is only appended to';
  end $$`,
  `create trigger operation_logs_keep before update or delete or truncate on operation_logs
    for each statement execute function operation_logs_keep()`,
];
