import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Identity providers, the external identities of members, and their two-factor codes. */
export class SignIn1763683200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['auth_providers', 'oauth_accounts', 'member_totps']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to identity_app`);
    }
    await runner.query('create sequence auth_providers_id_seq');
    await runner.query('grant usage on sequence auth_providers_id_seq to identity_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table auth_providers (
    merchant_id bigint not null, id bigint not null, name text not null, issuer text not null, audience text not null,
    key_source text not null, algorithms text[] not null, jwks_url text not null, public_key text not null,
    sealed_secret text not null, auth_js_salt text not null, create_time bigint not null, deleted_time bigint not null,
    version integer not null, constraint auth_providers_pkey primary key (merchant_id, id))`,
  `create unique index auth_providers_issuer on auth_providers (merchant_id, issuer) where deleted_time = 0`,
  `create unique index auth_providers_one_authjs on auth_providers (merchant_id)
    where key_source = 'authJs' and deleted_time = 0`,
  `create table oauth_accounts (
    merchant_id bigint not null, member_id bigint not null, issuer text not null, subject text not null,
    provider text not null, email text not null, email_verified boolean not null, name text not null,
    image text not null, link_time bigint not null, cleared_time bigint not null,
    constraint oauth_accounts_pkey primary key (merchant_id, member_id, issuer, subject))`,
  `create unique index oauth_accounts_identity on oauth_accounts (merchant_id, issuer, subject)
    where cleared_time = 0`,
  `create table member_totps (
    merchant_id bigint not null, member_id bigint not null, sealed_key text not null, pending_key text not null,
    pending_type integer not null, recovery_hashes text[] not null, last_step bigint not null,
    failures integer not null, locked_until bigint not null,
    constraint member_totps_pkey primary key (merchant_id, member_id))`,
];
