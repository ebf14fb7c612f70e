import { searchableV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Metrics, and their uses by plans: a trigger derives the rows from a plan's documents. No backfill: no plan could refer
 * to a metric before.
 */
export class Metrics1795262400006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of tables) await runner.query(statement);
    for (const name of ['metrics', 'plan_metrics']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to catalog_app`);
      await runner.query(`create sequence ${name}_id_seq`);
      await runner.query(`grant usage on sequence ${name}_id_seq to catalog_app`);
    }
    for (const statement of kept) await runner.query(statement);
    await runner.query(searchableV1('catalog', 'metrics', 'id', { texts }));
    for (const statement of currencies) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const tables = [
  `create table metrics (
    merchant_id bigint not null, id bigint not null, version integer not null, code text not null,
    metric_name text not null, metric_description text not null, type text not null, aggregation_type text not null,
    aggregation_property text not null, unit text not null, carryover_proration_enabled boolean not null,
    proration_refund_enabled boolean not null, metadata jsonb not null, create_time bigint not null,
    modify_time bigint not null, deleted_time bigint not null, sort_name text not null,
    constraint metrics_pkey primary key (merchant_id, id),
    constraint metrics_type check (type in ('limitMetered', 'chargeMetered', 'chargeRecurring', 'limitRecurring')),
    constraint metrics_aggregation_type check (aggregation_type in ('count', 'countUnique', 'latest', 'max', 'sum')))`,
  `create unique index metrics_code on metrics (merchant_id, code) where deleted_time = 0`,
  `create index metrics_newest on metrics (merchant_id, deleted_time, create_time, id)`,
  `create index metrics_by_name on metrics (merchant_id, deleted_time, sort_name, id)`,
  `create index metrics_by_code on metrics (merchant_id, deleted_time, code, id)`,
  `create table plan_metrics (
    merchant_id bigint not null, plan_id bigint not null, use text not null, metric_id bigint not null,
    id bigint not null, metric_limit bigint not null, create_time bigint not null, modify_time bigint not null,
    constraint plan_metrics_pkey primary key (merchant_id, plan_id, use, metric_id),
    constraint plan_metrics_use check (use in ('limit', 'meteredCharge', 'recurringCharge')))`,
  `create unique index plan_metrics_id on plan_metrics (merchant_id, id)`,
  `create index plan_metrics_by_metric on plan_metrics (merchant_id, metric_id, plan_id)`,
];

const texts = ['code', 'metric_name', 'metric_description'].map(column => `new.${column}`).join(` || E'\\x1f' || `);

/** An existing row keeps its id: the command may have inserted it to return the id. */
const kept = [
  `create function plan_metrics_keep() returns trigger language plpgsql as $$ begin
    if tg_op = 'UPDATE' and (new.metric_limits, new.metric_metered_charge, new.metric_recurring_charge)
      is not distinct from (old.metric_limits, old.metric_metered_charge, old.metric_recurring_charge) then
      return null;
    end if;
    with named as (
      select 'limit' as use, (entry ->> 'metricId')::bigint as metric_id,
        (entry ->> 'metricLimit')::bigint as metric_limit
      from jsonb_array_elements(new.metric_limits) entry
      union all
      select 'meteredCharge', (entry ->> 'metricId')::bigint, 0
      from jsonb_array_elements(new.metric_metered_charge) entry
      union all
      select 'recurringCharge', (entry ->> 'metricId')::bigint, 0
      from jsonb_array_elements(new.metric_recurring_charge) entry
    ), gone as (
      delete from plan_metrics kept where kept.merchant_id = new.merchant_id and kept.plan_id = new.id
        and not exists (select 1 from named where named.use = kept.use and named.metric_id = kept.metric_id)
    )
    insert into plan_metrics (merchant_id, plan_id, use, metric_id, id, metric_limit, create_time, modify_time)
    select new.merchant_id, new.id, use, metric_id, nextval('plan_metrics_id_seq'), metric_limit, new.modify_time,
      new.modify_time
    from named
    on conflict (merchant_id, plan_id, use, metric_id) do update
      set metric_limit = excluded.metric_limit, modify_time = excluded.modify_time
      where plan_metrics.metric_limit <> excluded.metric_limit;
    return null;
  end $$`,
  `create trigger plan_metrics_keep after insert or update on plans for each row execute function plan_metrics_keep()`,
];

const currencies = [
  `create table currency_rules (
    merchant_id bigint not null, version integer not null, sets jsonb not null, modify_time bigint not null,
    constraint currency_rules_pkey primary key (merchant_id))`,
  secureV1('currency_rules'),
  `create table rate_tables (
    id bigint not null, source text not null, at bigint not null, digest text not null, taken_time bigint not null,
    constraint rate_tables_pkey primary key (id))`,
  `create unique index rate_tables_digest on rate_tables (digest)`,
  `create index rate_tables_newest on rate_tables (at, id)`,
  `create table exchange_rates (
    table_id bigint not null, from_currency text not null, to_currency text not null, rate numeric(30, 12) not null,
    constraint exchange_rates_pkey primary key (table_id, from_currency, to_currency),
    constraint exchange_rates_rate check (rate > 0))`,
  `create sequence rate_tables_id_seq`,
  `grant select, insert, update, delete on currency_rules, rate_tables, exchange_rates to catalog_app`,
  `grant usage on sequence rate_tables_id_seq to catalog_app`,
];
