import { searchableV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Users with the whole profile, searchable and countable among a million; copies of billing's gateways; client sessions.
 *
 * user_tallies: the number of users created in each day and in each minute (`span`, seconds), maintained by a trigger
 * that sees all rows of an insert at once. Each connection counts in a shard, so that concurrent inserts for one merchant
 * do not wait for each other. Users are never deleted and their create_time never changes.
 */
export class Users1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(searchableV1('identity', 'users', 'id', texts));
    for (const name of ['user_tallies', 'gateway_copies']) await runner.query(secureV1(name));
    for (const name of ['user_tallies', 'gateway_copies', 'client_sessions']) {
      await runner.query(`grant select, insert, update, delete on ${name} to identity_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const texts = {
  email: 'new.email',
  first_name: 'new.first_name',
  last_name: 'new.last_name',
  // the texts that a search key matches; first and last name match as one
  anything: `concat_ws(E'\\n', new.email, concat_ws(' ', new.first_name, new.last_name), new.external_user_id,
    new.profile ->> 'companyName')`,
};

const tally = `insert into user_tallies (merchant_id, span, start_time, shard, n)
    select merchant_id, span, create_time - create_time % span, pg_backend_pid() % 8, count(*)
    from made, (values (86400), (60)) spans (span) group by 1, 2, 3 order by 1, 2, 3`;

const statements = [
  `alter table users add column profile jsonb not null default '{}'`,
  `create index users_newest on users (merchant_id, create_time, id)`,
  `create index users_suspended on users (merchant_id, create_time, id) where status = 'suspended'`,
  `create index users_gateway on users (merchant_id, gateway_id, create_time, id) where gateway_id <> 0`,
  `create table user_tallies (
    merchant_id bigint not null, span integer not null, start_time bigint not null, shard integer not null,
    n bigint not null, constraint user_tallies_pkey primary key (merchant_id, span, start_time, shard))`,
  `create function user_tallies_keep() returns trigger language plpgsql as $$ begin
    ${tally}
    on conflict (merchant_id, span, start_time, shard) do update set n = user_tallies.n + excluded.n;
    return null;
  end $$`,
  `create trigger user_tallies_keep after insert on users referencing new table as made
    for each statement execute function user_tallies_keep()`,
  `alter table users no force row level security`,
  `with made as (select merchant_id, create_time from users) ${tally}`,
  `alter table users force row level security`,
  `create table gateway_copies (
    merchant_id bigint not null, id bigint not null, archived boolean not null, data jsonb not null,
    version integer not null, constraint gateway_copies_pkey primary key (merchant_id, id))`,
  `create table client_sessions (
    session_hash text not null, merchant_id bigint not null, user_id bigint not null, return_url text not null,
    cancel_url text not null, expire_time bigint not null, remove_time bigint not null,
    constraint client_sessions_pkey primary key (session_hash))`,
  `create index client_sessions_remove on client_sessions (remove_time)`,
];
