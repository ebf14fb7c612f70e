import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Charges: what was sent to gateways, how open invoices are collected, and the callbacks of gateways. gateway_routes finds
 * the merchant of a callback, gateway_facts recognises one that is repeated; neither belongs to a merchant's rows.
 */
export class Collection1763683200015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('collections'));
    await runner.query('grant select, insert, update, delete on collections to billing_app');
    for (const statement of filled) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const none = (type: 'text' | 'bigint' | 'integer', ...columns: string[]) =>
  columns.map(column => `add ${column} ${type} not null default ${type === 'text' ? `''` : 0}`).join(', ');

const statements = [
  `create sequence payments_id_seq`,
  `grant usage on sequence payments_id_seq to billing_app`,
  `alter table payments ${none('bigint', 'id', 'sent_time')}, ${none('integer', 'attempt', 'inquiries')},
    ${none('text', 'outcome', 'capture_id')}, add automatic boolean not null default false,
    add manual_capture boolean not null default false,
    add constraint payments_outcome check (outcome in ('', 'sending', 'unknown', 'action', 'authorised'))`,
  `create index payments_reference on payments (merchant_id, gateway_id, gateway_payment_id)
    where gateway_payment_id <> ''`,
  `create index payments_invoice on payments (merchant_id, invoice_id)`,
  `alter table refunds ${none('bigint', 'id', 'sent_time')}, ${none('integer', 'inquiries')}`,
  `create index refunds_newest on refunds (merchant_id, create_time, id)`,
  `create index refunds_user on refunds (merchant_id, user_id, create_time, id)`,
  `create index gateway_users_theirs on gateway_users (merchant_id, gateway_id, gateway_user_id)`,
  `create table collections (
    merchant_id bigint not null, invoice_id text not null, automatic boolean not null, try_now boolean not null,
    attempts integer not null, failures integer not null, next_time bigint not null, last_time bigint not null,
    retry_interval_seconds bigint not null, max_retries integer not null, incomplete_expire_seconds bigint not null,
    constraint collections_pkey primary key (merchant_id, invoice_id))`,
  `create table gateway_routes (gateway_id bigint primary key, merchant_id bigint not null)`,
  `grant select, insert on gateway_routes to billing_app`,
  `create table gateway_facts (
    merchant_id bigint not null, gateway_id bigint not null, fact_id text not null, received_at bigint not null,
    constraint gateway_facts_pkey primary key (merchant_id, gateway_id, fact_id))`,
  `create index gateway_facts_oldest on gateway_facts (received_at)`,
  `grant select, insert, delete on gateway_facts to billing_app`,
];

const filled = [
  ...['payments', 'refunds', 'gateways'].map(table => `alter table ${table} no force row level security`),
  ...['payments', 'refunds'].map(table => `update ${table} set id = nextval('payments_id_seq')`),
  `insert into gateway_routes select gateway_id, merchant_id from gateways where gateway_name in ('sandbox', 'stripe')`,
  ...['payments', 'refunds', 'gateways'].map(table => `alter table ${table} force row level security`),
];
