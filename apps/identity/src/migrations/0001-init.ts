import { createPlatformTablesV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Merchants, members, API keys, users and the operation log; signing keys, the row of callers, and the lookups from a
 * hash to its merchant. No foreign keys: rows of one aggregate are written by one statement.
 */
export class Init1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createPlatformTablesV1(runner, 'identity');
    for (const statement of statements) await runner.query(statement);
    for (const name of ['merchants', 'members', 'api_keys', 'users', 'operation_logs']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to identity_app`);
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to identity_app`);
    }
    for (const name of ['signing_keys', 'callers', 'api_key_lookups', 'member_emails']) {
      await runner.query(`grant select, insert, update, delete on ${name} to identity_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table merchants (
    merchant_id bigint not null, name text not null, create_time bigint not null, version integer not null,
    constraint merchants_pkey primary key (merchant_id))`,
  `create table members (
    merchant_id bigint not null, id bigint not null, email text not null, email_key text not null,
    first_name text not null, last_name text not null, is_owner boolean not null, status text not null,
    create_time bigint not null, version integer not null,
    constraint members_pkey primary key (merchant_id, id),
    constraint members_status check (status in ('active', 'suspended')))`,
  `create unique index members_email on members (merchant_id, email_key)`,
  `create table api_keys (
    merchant_id bigint not null, id bigint not null, jti_hash text not null, hint text not null,
    create_time bigint not null, revoked_time bigint not null, version integer not null,
    constraint api_keys_pkey primary key (merchant_id, id))`,
  `create unique index api_keys_jti on api_keys (merchant_id, jti_hash)`,
  `create table users (
    merchant_id bigint not null, id bigint not null, email text not null, email_key text not null,
    external_user_id text not null, first_name text not null, last_name text not null, phone text not null,
    address text not null, language text not null, password_hash text, status text not null, type integer not null,
    billing_type integer not null, gateway_id bigint not null, create_time bigint not null, version integer not null,
    constraint users_pkey primary key (merchant_id, id),
    constraint users_status check (status in ('active', 'suspended')))`,
  `create unique index users_email on users (merchant_id, email_key)`,
  `create unique index users_external on users (merchant_id, external_user_id) where external_user_id <> ''`,
  `create table operation_logs (
    merchant_id bigint not null, id bigint not null, create_time bigint not null, opt_account_type integer not null,
    opt_account_id text not null, opt_account text not null, member_id bigint not null, opt_target text not null,
    opt_content text not null, user_id bigint not null, plan_id bigint not null, invoice_id text not null,
    subscription_id text not null, discount_code text not null,
    constraint operation_logs_pkey primary key (merchant_id, id))`,
  `create index operation_logs_newest on operation_logs (merchant_id, create_time, id)`,
  `create table signing_keys (
    kid text not null, public_key jsonb not null, sealed_private_key text not null, is_current boolean not null,
    create_time bigint not null, constraint signing_keys_pkey primary key (kid))`,
  `create unique index signing_keys_one_current on signing_keys (is_current) where is_current`,
  `create table callers (
    id text not null, version integer not null,
    constraint callers_pkey primary key (id), constraint callers_one_row check (id = 'callers'))`,
  `insert into callers (id, version) values ('callers', 0)`,
  `create table api_key_lookups (
    jti_hash text not null, merchant_id bigint not null, revoked_time bigint not null,
    constraint api_key_lookups_pkey primary key (jti_hash))`,
  `create index api_key_lookups_revoked on api_key_lookups (revoked_time) where revoked_time > 0`,
  `create table member_emails (
    email_hash text not null, merchant_id bigint not null, constraint member_emails_pkey primary key (email_hash))`,
];
