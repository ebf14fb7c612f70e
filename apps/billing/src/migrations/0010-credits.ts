import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Credit configs, accounts and recharges, and transactions, which the app may add but neither change nor remove. */
export class Credits1763683200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['credit_configs', 'credit_accounts', 'credit_transactions', 'credit_recharges']) {
      await runner.query(secureV1(name));
      const grants = name === 'credit_transactions' ? 'select, insert' : 'select, insert, update';
      await runner.query(`grant ${grants} on ${name} to billing_app`);
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to billing_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table credit_configs (
    merchant_id bigint not null, config_id bigint not null, type text not null, currency text not null,
    name text not null, description text not null, logo text not null, logo_url text not null, meta_data jsonb not null,
    exchange_rate bigint not null, recurring boolean not null, discount_code_exclusive boolean not null,
    preview_default_used boolean not null, payout_enable boolean not null, recharge_enable boolean not null,
    create_time bigint not null, version integer not null,
    constraint credit_configs_pkey primary key (merchant_id, config_id),
    constraint credit_configs_type check (type in ('main', 'promo')),
    constraint credit_configs_rate check (exchange_rate >= 1 and (type <> 'main' or exchange_rate = 100)))`,
  `create unique index credit_configs_one on credit_configs (merchant_id, type, currency)`,
  `create table credit_accounts (
    merchant_id bigint not null, credit_id bigint not null, user_id bigint not null, type text not null,
    currency text not null, balance bigint not null, total_increment bigint not null, total_decrement bigint not null,
    last_sequence bigint not null, create_time bigint not null, version integer not null,
    constraint credit_accounts_pkey primary key (merchant_id, credit_id),
    constraint credit_accounts_type check (type in ('main', 'promo')),
    constraint credit_accounts_balance check (balance >= 0 and balance = total_increment + total_decrement))`,
  `create unique index credit_accounts_one on credit_accounts (merchant_id, user_id, type, currency)`,
  `create index credit_accounts_newest on credit_accounts (merchant_id, create_time, credit_id)`,
  `create index credit_accounts_currency on credit_accounts (merchant_id, currency, type)`,
  `create table credit_transactions (
    merchant_id bigint not null, credit_id bigint not null, sequence bigint not null, id bigint not null,
    transaction_id text not null, user_id bigint not null, account_type text not null, currency text not null,
    move text not null, delta bigint not null, before bigint not null, after bigint not null,
    exchange_rate bigint not null, biz_id text not null, invoice_id text not null, name text not null,
    description text not null, by text not null, member_id bigint not null, idempotency_key text not null,
    create_time bigint not null,
    constraint credit_transactions_pkey primary key (merchant_id, credit_id, sequence),
    constraint credit_transactions_type check (account_type in ('main', 'promo')),
    constraint credit_transactions_move check (move in ('recharge', 'payout', 'refund', 'withdraw', 'withdrawFailed',
      'adminChange', 'rechargeRefunded')),
    constraint credit_transactions_delta check (delta <> 0 and after = before + delta and before >= 0 and after >= 0))`,
  `create unique index credit_transactions_key on credit_transactions (merchant_id, idempotency_key)
    where idempotency_key <> ''`,
  `create index credit_transactions_invoice on credit_transactions (merchant_id, invoice_id) where invoice_id <> ''`,
  `create index credit_transactions_newest on credit_transactions (merchant_id, account_type, create_time, id)`,
  `create index credit_transactions_user on credit_transactions (merchant_id, user_id, create_time, id)`,
  `create index credit_transactions_currency on credit_transactions (merchant_id, currency, create_time, id)`,
  `create index credit_transactions_moves on credit_transactions (merchant_id, move, create_time, id)`,
  `create table credit_recharges (
    merchant_id bigint not null, recharge_id text not null, id bigint not null, status text not null,
    credit_id bigint not null, user_id bigint not null, currency text not null, amount bigint not null,
    gateway_id bigint not null, invoice_id text not null, payment_id text not null, name text not null,
    description text not null, create_time bigint not null, paid_time bigint not null,
    constraint credit_recharges_pkey primary key (merchant_id, recharge_id),
    constraint credit_recharges_status check (status in ('created', 'success', 'failed')))`,
  `create unique index credit_recharges_invoice on credit_recharges (merchant_id, invoice_id)`,
];
