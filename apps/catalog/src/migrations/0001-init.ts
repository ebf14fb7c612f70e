import { createPlatformTablesV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Products and plans. References of plans are checked by commands; there are no foreign keys. */
export class Init1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createPlatformTablesV1(runner, 'catalog');
    for (const statement of statements) await runner.query(statement);
    for (const name of ['products', 'plans']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to catalog_app`);
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to catalog_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table products (
    merchant_id bigint not null, id bigint not null, version integer not null, status text not null,
    product_name text not null, description text not null, home_url text not null, image_url text not null,
    metadata jsonb not null, us_vat_config jsonb, create_time bigint not null, modify_time bigint not null,
    deleted_time bigint not null,
    constraint products_pkey primary key (merchant_id, id),
    constraint products_status check (status in ('active', 'inactive')))`,
  `create table plans (
    merchant_id bigint not null, id bigint not null, version integer not null, status text not null,
    publish_status text not null, type text not null, product_id bigint not null, plan_name text not null,
    internal_name text not null, description text not null, external_plan_id text not null, currency text not null,
    amount bigint not null, compare_at_amount bigint not null, interval_unit text not null,
    interval_count bigint not null, trial_amount bigint not null, trial_duration_seconds bigint not null,
    trial_demand text not null, cancel_at_trial_end boolean not null, disable_auto_charge boolean not null,
    gas_payer text not null, home_url text not null, image_url text not null, checkout_url text not null,
    checkout_template_id bigint not null, auto_upgrade_plan_id bigint not null, addon_ids bigint[] not null,
    onetime_addon_ids bigint[] not null, product_name text not null, product_description text not null,
    create_time bigint not null, modify_time bigint not null, metadata jsonb not null, metric_limits jsonb not null,
    metric_metered_charge jsonb not null, metric_recurring_charge jsonb not null, multi_currencies jsonb not null,
    multi_trials jsonb not null, us_vat_config jsonb,
    constraint plans_pkey primary key (merchant_id, id),
    constraint plans_status check (status in ('editing', 'active', 'softArchived', 'hardArchived')),
    constraint plans_publish_status check (publish_status in ('unpublished', 'published')),
    constraint plans_type check (type in ('main', 'recurringAddon', 'onetimeAddon')),
    constraint plans_amount check (amount >= 0 and compare_at_amount >= 0 and trial_amount >= 0))`,
  `create unique index plans_external_id on plans (merchant_id, external_plan_id) where external_plan_id <> ''`,
];
