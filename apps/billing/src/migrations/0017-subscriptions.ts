import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Subscriptions with their periods, changes, notes, one-time add-ons and settings; invoices that bill them. */
export class Subscriptions1763683200017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of tables) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    for (const name of numbered) {
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to billing_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const tables = [
  'subscriptions',
  'subscription_periods',
  'subscription_pending_updates',
  'subscription_notes',
  'onetime_addons',
  'subscription_settings',
];
const numbered = ['subscriptions', 'subscription_notes', 'onetime_addons'];

const texts = (...columns: string[]) => columns.map(column => `${column} text not null`).join(', ');
const bigints = (...columns: string[]) => columns.map(column => `${column} bigint not null`).join(', ');
const integers = (...columns: string[]) => columns.map(column => `${column} integer not null`).join(', ');
const flags = (...columns: string[]) => columns.map(column => `${column} boolean not null`).join(', ');

const statements = [
  `create table subscriptions (
    ${bigints('merchant_id', 'id', 'user_id', 'product_id', 'plan_id', 'amount', 'anchor')},
    ${bigints('current_period_start', 'current_period_end', 'current_period_paid', 'trial_end', 'first_paid_time')},
    ${bigints('gateway_id', 'cancel_time', 'dunning_time', 'parked_at', 'create_time', 'modify_time')},
    ${integers('version', 'quantity', 'type', 'period_no', 'tax_percentage')},
    ${texts('subscription_id', 'status', 'previous_status', 'currency', 'time_zone', 'payment_method_id')},
    ${texts('gateway_payment_type', 'cancel_reason', 'latest_invoice_id', 'pending_update_id', 'vat_number')},
    ${texts('country_code', 'return_url', 'cancel_url', 'parked_reason')},
    ${flags('manual_payment', 'cancel_at_period_end')},
    plan_snapshot jsonb not null, items jsonb not null, multi_trial jsonb, discount jsonb, carried_lines jsonb not null,
    metadata jsonb not null,
    constraint subscriptions_pkey primary key (merchant_id, subscription_id),
    constraint subscriptions_status check (status in
      ('init', 'pending', 'active', 'processing', 'incomplete', 'cancelled', 'expired', 'failed')),
    constraint subscriptions_period check (current_period_end > current_period_start and period_no >= 0))`,
  `create unique index subscriptions_one_live on subscriptions (merchant_id, user_id, product_id)
    where status in ('active', 'incomplete', 'processing')`,
  `create index subscriptions_user on subscriptions (merchant_id, user_id, create_time, id)`,
  `create index subscriptions_newest on subscriptions (merchant_id, create_time, id)`,
  `create index subscriptions_in_status on subscriptions (merchant_id, status, create_time, id)`,
  `create index subscriptions_plan on subscriptions (merchant_id, plan_id, create_time, id)`,
  `create index subscriptions_product on subscriptions (merchant_id, product_id, create_time, id)`,
  `create table subscription_periods (
    ${bigints('merchant_id', 'user_id', 'start_at', 'end_at', 'create_time')}, ${integers('seq')},
    ${texts('subscription_id', 'kind', 'invoice_id', 'state')},
    constraint subscription_periods_pkey primary key (merchant_id, subscription_id, seq),
    constraint subscription_periods_kind check (kind in ('trial', 'free', 'cycle', 'stub')),
    constraint subscription_periods_state check (state in ('open', 'paid', 'unpaid', 'void')),
    constraint subscription_periods_span check (end_at > start_at))`,
  `create unique index subscription_periods_live on subscription_periods
    (merchant_id, subscription_id, start_at, kind) where state <> 'void'`,
  `create index subscription_periods_user on subscription_periods
    (merchant_id, user_id, create_time, subscription_id, seq)`,
  `create index subscription_periods_newest on subscription_periods (merchant_id, create_time, subscription_id, seq)`,
  `create table subscription_pending_updates (
    ${bigints('merchant_id', 'user_id', 'plan_id', 'update_plan_id', 'amount', 'update_amount', 'proration_amount')},
    ${bigints('gateway_id', 'effect_time', 'proration_date', 'member_id', 'create_time', 'modify_time')},
    ${integers('version', 'effect_immediate', 'quantity', 'update_quantity')},
    ${texts('pending_update_id', 'subscription_id', 'status', 'kind', 'currency', 'update_currency', 'name', 'note')},
    ${texts('invoice_id', 'link', 'member_email')}, ${flags('paid')},
    plan_snapshot jsonb not null, items jsonb not null, update_snapshot jsonb not null, update_items jsonb not null,
    terms jsonb not null, metadata jsonb not null,
    constraint subscription_pending_updates_pkey primary key (merchant_id, pending_update_id),
    constraint subscription_pending_updates_status check (status in ('init', 'pending', 'finished', 'cancelled')))`,
  `create unique index subscription_pending_updates_one on subscription_pending_updates (merchant_id, subscription_id)
    where status in ('init', 'pending')`,
  `create index subscription_pending_updates_newest on subscription_pending_updates
    (merchant_id, subscription_id, create_time, pending_update_id)`,
  `create table subscription_notes (${bigints('merchant_id', 'id', 'member_id', 'create_time')},
    ${texts('subscription_id', 'note', 'member_email')},
    constraint subscription_notes_pkey primary key (merchant_id, id))`,
  `create index subscription_notes_newest on subscription_notes (merchant_id, subscription_id, id)`,
  `create table onetime_addons (
    ${bigints('merchant_id', 'id', 'user_id', 'addon_id', 'unit_amount', 'amount', 'create_time', 'modify_time')},
    ${integers('version', 'quantity')},
    ${texts('addon_key', 'subscription_id', 'status', 'currency', 'name', 'description', 'invoice_id', 'payment_id')},
    plan jsonb not null, metadata jsonb not null,
    constraint onetime_addons_pkey primary key (merchant_id, id),
    constraint onetime_addons_status check (status in ('created', 'paid', 'cancelled', 'expired')))`,
  `create unique index onetime_addons_invoice on onetime_addons (merchant_id, invoice_id)`,
  `create index onetime_addons_user on onetime_addons (merchant_id, user_id, create_time, id)`,
  `create table subscription_settings (
    ${bigints('merchant_id', 'downgrade_lead_seconds', 'incomplete_expire_seconds', 'charge_lead_seconds')},
    ${bigints('usage_grace_seconds', 'retry_interval_seconds')}, ${integers('first_invoice_days', 'max_retries')},
    ${texts('time_zone', 'late_usage')},
    ${flags('downgrade_effect_immediately', 'upgrade_proration', 'one_trial_per_user')},
    constraint subscription_settings_pkey primary key (merchant_id))`,
  `alter table invoices add subscription_id text not null default '', add bill_reason text not null default '',
    add period_kind text not null default '', add period_seq integer not null default 0,
    add period_start bigint not null default 0, add period_end bigint not null default 0, add billed jsonb`,
  `create index invoices_subscription on invoices (merchant_id, subscription_id, create_time, id)
    where subscription_id <> ''`,
  `create unique index invoices_period on invoices (merchant_id, subscription_id, period_start, period_kind)
    where period_kind <> '' and kind = 'invoice' and status in ('pending', 'processing', 'paid') and deleted_time = 0`,
  `alter table invoice_lines add item_key text not null default '', add start_at bigint not null default 0,
    add end_at bigint not null default 0, add metric_charge jsonb`,
];
