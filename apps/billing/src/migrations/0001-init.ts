import { coarseV1, createPlatformTablesV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Invoices, payments, gateways, and the copies of users and plans. There are no foreign keys: the rows of an aggregate
 * are written by a single statement, and commands check references to other aggregates under their locks.
 */
export class Init1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createPlatformTablesV1(runner, 'billing');
    for (const statement of statements) await runner.query(statement);
    for (const name of [
      'invoices',
      'invoice_lines',
      'payments',
      'gateways',
      'numberings',
      'user_copies',
      'plan_copies',
    ]) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    for (const name of ['invoices', 'gateways']) {
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to billing_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table invoices (
    merchant_id bigint not null, invoice_id text not null, id bigint not null, version integer not null,
    status text not null, number text not null, user_id bigint not null, biz_type integer not null,
    create_from text not null, invoice_name text not null, currency text not null, tax_bps integer not null,
    promo_amount bigint not null, discount_amount bigint not null, tax_amount bigint not null,
    total_amount_excluding_tax bigint not null, total_amount bigint not null, origin_amount bigint not null,
    gateway_id bigint not null, payment_id text not null, link text not null, days_until_due integer not null,
    create_time bigint not null, modify_time bigint not null, finish_time bigint not null, paid_time bigint not null,
    deleted_time bigint not null,
    constraint invoices_pkey primary key (merchant_id, invoice_id),
    constraint invoices_status check (status in ('init', 'pending', 'processing', 'paid', 'failed', 'cancelled', 'reversed')),
    constraint invoices_total check (total_amount >= 0))`,
  `create index invoices_newest on invoices (merchant_id, create_time, id)`,
  `create unique index invoices_number on invoices (merchant_id, number) where number <> ''`,
  `create table invoice_lines (
    merchant_id bigint not null, invoice_id text not null, line_no integer not null, line_id text not null,
    name text not null, description text not null, plan_id bigint not null, plan jsonb,
    unit_amount_excluding_tax bigint not null, quantity integer not null, amount_excluding_tax bigint not null,
    promo_amount bigint not null, discount_amount bigint not null, tax bigint not null, amount bigint not null,
    origin_amount bigint not null,
    constraint invoice_lines_pkey primary key (merchant_id, invoice_id, line_no))`,
  coarseV1('invoice_lines'),
  `create table payments (
    merchant_id bigint not null, payment_id text not null, version integer not null, status text not null,
    invoice_id text not null, user_id bigint not null, gateway_id bigint not null, currency text not null,
    total_amount bigint not null, payment_amount bigint not null, gateway_payment_id text not null,
    reason text not null, link text not null, create_time bigint not null, modify_time bigint not null,
    paid_time bigint not null, cancel_time bigint not null,
    constraint payments_pkey primary key (merchant_id, payment_id),
    constraint payments_status check (status in ('created', 'success', 'failed', 'cancelled')))`,
  `create unique index payments_one_live on payments (merchant_id, invoice_id) where status in ('created', 'success')`,
  `create index payments_newest on payments (merchant_id, create_time, payment_id)`,
  `create table gateways (
    merchant_id bigint not null, gateway_id bigint not null, gateway_name text not null, gateway_type integer not null,
    display_name text not null, currency text not null, minimum_amount bigint not null, sort integer not null,
    icons text[] not null, is_default boolean not null, archived boolean not null, sealed_bank text,
    create_time bigint not null, version integer not null,
    constraint gateways_pkey primary key (merchant_id, gateway_id))`,
  `create unique index gateways_name on gateways (merchant_id, gateway_name)`,
  `create unique index gateways_one_default on gateways (merchant_id) where is_default`,
  `create table numberings (merchant_id bigint not null, last_number bigint not null,
    constraint numberings_pkey primary key (merchant_id))`,
  `create table user_copies (
    merchant_id bigint not null, id bigint not null, status integer not null, gateway_id bigint not null,
    data jsonb not null, version integer not null, constraint user_copies_pkey primary key (merchant_id, id))`,
  `create table plan_copies (
    merchant_id bigint not null, id bigint not null, status integer not null, data jsonb not null,
    version integer not null, constraint plan_copies_pkey primary key (merchant_id, id))`,
];
