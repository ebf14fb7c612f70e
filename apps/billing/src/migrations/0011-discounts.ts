import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Discount codes and their uses. */
export class Discounts1763683200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['discounts', 'user_discounts']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update on ${name} to billing_app`);
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to billing_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table discounts (
    merchant_id bigint not null, discount_id bigint not null, code text not null, status text not null,
    subscription_id text not null, name text not null, billing_type text not null, discount_type text not null,
    amount bigint not null, percentage integer not null, currency text not null, cycle_limit integer not null,
    start_time bigint not null, end_time bigint not null, quantity integer not null, user_limit integer not null,
    user_scope text not null, upgrade_only boolean not null, upgrade_longer_only boolean not null,
    advance boolean not null, plan_apply text not null, plan_ids bigint[] not null, plan_group jsonb,
    metadata jsonb not null, uses integer not null, create_time bigint not null, deleted_time bigint not null,
    version integer not null,
    constraint discounts_pkey primary key (merchant_id, discount_id),
    constraint discounts_status check (status in ('editable', 'active', 'deactivated', 'archived')),
    constraint discounts_uses check (uses >= 0))`,
  `create unique index discounts_code on discounts (merchant_id, code) where deleted_time = 0`,
  `create index discounts_newest on discounts (merchant_id, create_time, discount_id)`,
  `create table user_discounts (
    merchant_id bigint not null, use_id bigint not null, discount_id bigint not null, code text not null,
    status text not null, user_id bigint not null, plan_id bigint not null, subscription_id text not null,
    invoice_id text not null, payment_id text not null, currency text not null, amount bigint not null,
    counted boolean not null, cycle boolean not null, create_time bigint not null, modify_time bigint not null,
    constraint user_discounts_pkey primary key (merchant_id, use_id),
    constraint user_discounts_status check (status in ('used', 'rolledBack')))`,
  `create unique index user_discounts_invoice on user_discounts (merchant_id, invoice_id)
    where status = 'used' and invoice_id <> ''`,
  `create index user_discounts_newest on user_discounts (merchant_id, discount_id, create_time, use_id)`,
  `create index user_discounts_user on user_discounts (merchant_id, discount_id, user_id)`,
  `create index user_discounts_subscription on user_discounts (merchant_id, subscription_id)
    where subscription_id <> ''`,
];
