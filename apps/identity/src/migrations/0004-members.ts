import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Roles of members, their devices and their setup tokens. Members emit events from now on, so versions of existing rows,
 * which have emitted none, start at 0.
 */
export class Members1763683200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['roles', 'member_sessions', 'setup_tokens']) await runner.query(secureV1(name));
    for (const name of ['roles', 'member_sessions', 'setup_tokens', 'live_sessions']) {
      await runner.query(`grant select, insert, update, delete on ${name} to identity_app`);
    }
    await runner.query('create sequence roles_id_seq');
    await runner.query('grant usage on sequence roles_id_seq to identity_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table merchants add column profile jsonb not null default '{}'`,
  `alter table members add column mobile text not null default '', add column password_hash text,
    add column role_ids bigint[] not null default '{}', add column totp_type text not null default 'off'`,
  `create index members_newest on members (merchant_id, create_time, id)`,
  `alter table members no force row level security`,
  `update members set version = 0`,
  `alter table members force row level security`,
  `create table roles (
    merchant_id bigint not null, id bigint not null, name text not null, name_key text not null,
    permissions jsonb not null, create_time bigint not null, deleted_time bigint not null, version integer not null,
    constraint roles_pkey primary key (merchant_id, id))`,
  `create unique index roles_name on roles (merchant_id, name_key) where deleted_time = 0`,
  `create table member_sessions (
    merchant_id bigint not null, member_id bigint not null, identity text not null, sid text not null,
    name text not null, ip text not null, login_time bigint not null, active_time bigint not null,
    totp_time bigint not null, ended_time bigint not null,
    constraint member_sessions_pkey primary key (merchant_id, member_id, identity))`,
  `create table live_sessions (
    sid text not null, merchant_id bigint not null, member_id bigint not null, email text not null,
    granted text not null, active_time bigint not null, expire_time bigint not null,
    constraint live_sessions_pkey primary key (sid))`,
  `create index live_sessions_member on live_sessions (merchant_id, member_id)`,
  `create index live_sessions_idle on live_sessions (active_time)`,
  `create index live_sessions_expire on live_sessions (expire_time)`,
  `create table setup_tokens (
    merchant_id bigint not null, member_id bigint not null, token_hash text not null, expire_time bigint not null,
    used_time bigint not null, constraint setup_tokens_pkey primary key (merchant_id, member_id))`,
];
