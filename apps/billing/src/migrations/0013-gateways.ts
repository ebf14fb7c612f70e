import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Settings and secrets of gateways, payment methods, and the ledger of the sandbox gateway. */
export class Gateways1763683200013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['gateway_users', 'payment_methods', 'sandbox_charges', 'sandbox_callbacks']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    await runner.query('create sequence sandbox_callbacks_id_seq');
    await runner.query('grant usage on sequence sandbox_callbacks_id_seq to billing_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table gateways add settings jsonb, add sealed_key text, add sealed_secret text, add sealed_webhook_secret text`,
  `create table gateway_users (
    merchant_id bigint not null, gateway_id bigint not null, user_id bigint not null, gateway_user_id text not null,
    constraint gateway_users_pkey primary key (merchant_id, gateway_id, user_id))`,
  `create table payment_methods (
    merchant_id bigint not null, method_id text not null, gateway_id bigint not null, user_id bigint not null,
    type text not null, is_default boolean not null, data jsonb not null, gateway_method_id text not null,
    create_time bigint not null,
    constraint payment_methods_pkey primary key (merchant_id, method_id))`,
  `create unique index payment_methods_one_default on payment_methods (merchant_id, gateway_id, user_id)
    where is_default`,
  `create unique index payment_methods_once on payment_methods (merchant_id, gateway_id, user_id, gateway_method_id)`,
  `create table sandbox_charges (
    merchant_id bigint not null, idempotency_key text not null, kind text not null, reference text not null,
    charge_reference text not null, amount bigint not null, currency text not null, state text not null,
    tell_time bigint not null, create_time bigint not null,
    constraint sandbox_charges_pkey primary key (merchant_id, idempotency_key))`,
  `create unique index sandbox_charges_reference on sandbox_charges (merchant_id, reference)`,
  `create index sandbox_charges_refunds on sandbox_charges (merchant_id, charge_reference) where kind = 'refund'`,
  `create table sandbox_callbacks (
    merchant_id bigint not null, id bigint not null, gateway_id bigint not null, due_time bigint not null,
    body text not null, sent integer not null,
    constraint sandbox_callbacks_pkey primary key (merchant_id, id))`,
  `create index sandbox_callbacks_due on sandbox_callbacks (merchant_id, gateway_id, due_time, id) where sent = 0`,
];
