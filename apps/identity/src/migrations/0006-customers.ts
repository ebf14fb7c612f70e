import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Copies of subscriptions, plans and products; the purpose of a client session; notes on users.
 *
 * A user shows one of its subscriptions: the newest live one (active, incomplete, pending, processing), else the newest
 * of all. A trigger keeps it in the user's row, where lists of users can filter by index. The trigger locks the user
 * before it reads, since two subscriptions of one user may change concurrently.
 */
export class Customers1763683200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['subscription_copies', 'plan_copies', 'product_copies', 'admin_notes']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to identity_app`);
    }
    await runner.query('create sequence admin_notes_id_seq');
    await runner.query('grant usage on sequence admin_notes_id_seq to identity_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table users add column subscription_id text not null default '',
    add column subscription_status integer not null default 0, add column recurring_amount bigint not null default 0,
    add column plan_id bigint not null default 0`,
  `create index users_plan on users (merchant_id, plan_id, create_time, id) where plan_id <> 0`,
  `create index users_subscription on users (merchant_id, subscription_status, create_time, id)`,
  `create table subscription_copies (
    merchant_id bigint not null, id text not null, user_id bigint not null, product_id bigint not null,
    plan_id bigint not null, status integer not null, amount bigint not null, create_time bigint not null,
    data jsonb not null, version integer not null,
    constraint subscription_copies_pkey primary key (merchant_id, id))`,
  `create index subscription_copies_user on subscription_copies (merchant_id, user_id, create_time, id)`,
  `create function subscription_copies_show() returns trigger language plpgsql as $$
  declare shown subscription_copies; begin
    perform 1 from users where merchant_id = new.merchant_id and id = new.user_id for update;
    select * into shown from subscription_copies where merchant_id = new.merchant_id and user_id = new.user_id
      order by status in (1, 2, 7, 8) desc, create_time desc, id desc limit 1;
    update users set subscription_id = shown.id, subscription_status = shown.status,
      recurring_amount = shown.amount, plan_id = shown.plan_id
    where merchant_id = new.merchant_id and id = new.user_id
      and (subscription_id, subscription_status, recurring_amount, plan_id)
        is distinct from (shown.id, shown.status, shown.amount, shown.plan_id);
    return null;
  end $$`,
  `create trigger subscription_copies_show after insert or update on subscription_copies
    for each row execute function subscription_copies_show()`,
  `create table plan_copies (
    merchant_id bigint not null, id bigint not null, product_id bigint not null, status integer not null,
    type integer not null, plan_name text not null, data jsonb not null, version integer not null,
    constraint plan_copies_pkey primary key (merchant_id, id))`,
  `create table product_copies (
    merchant_id bigint not null, id bigint not null, deleted boolean not null, data jsonb not null,
    version integer not null, constraint product_copies_pkey primary key (merchant_id, id))`,
  `create table admin_notes (
    merchant_id bigint not null, id bigint not null, user_id bigint not null, member_id bigint not null,
    note text not null, create_time bigint not null, constraint admin_notes_pkey primary key (merchant_id, id))`,
  `create index admin_notes_user on admin_notes (merchant_id, user_id, create_time, id)`,
  `alter table client_sessions add column product_id bigint not null default 0,
    add column plan_id bigint not null default 0, add column subscription_id text not null default '',
    add column vat_country_code text not null default ''`,
];
