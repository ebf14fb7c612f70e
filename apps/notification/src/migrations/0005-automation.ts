import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Connections of automation platforms, and whose endpoints are theirs. */
export class Automation1763683200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('connections'));
    await runner.query('grant select, insert, update, delete on connections, connection_lookups to notification_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  'alter table endpoints add column connection_id text',
  `create table connections (
    merchant_id bigint not null, connection_id text not null, state text not null, return_url text not null,
    state_hash text not null, code_hash text not null, code_challenge text not null, access_hash text not null,
    access_until bigint not null, refresh_hash text not null, former_refresh_hash text not null,
    expire_time bigint not null, create_time bigint not null, modify_time bigint not null,
    constraint connections_pkey primary key (merchant_id, connection_id),
    constraint connections_state check (state in ('requested', 'allowed', 'connected')))`,
  // finds the connection of a client_id or token while the merchant is still unknown
  `create table connection_lookups (
    connection_id text not null, merchant_id bigint not null,
    constraint connection_lookups_pkey primary key (connection_id))`,
];
