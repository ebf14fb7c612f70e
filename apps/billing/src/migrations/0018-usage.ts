import { coarseV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Usage: events in monthly partitions by the time at which they happened, their ids in a table of their own, hashed by
 * merchant and user (a table partitioned by time could not hold that key), counters, and the copy of metrics.
 *
 * The app's role has no DDL: `usage_events_ensure` makes partitions as their owner. Partitions grant nothing and have
 * row-level security without a policy, so they are reached through their parent alone.
 */
export class Usage1763683200018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of tenantTables) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    for (const [name, cache] of Object.entries(sequences)) {
      await runner.query(`create sequence ${name} cache ${cache}`);
      await runner.query(`grant usage on sequence ${name} to billing_app`);
    }
    for (let part = 0; part < keyParts; part++) {
      const name = `usage_event_keys_${part}`;
      await runner.query(`create table ${name} partition of usage_event_keys
        for values with (modulus ${keyParts}, remainder ${part})`);
      await runner.query(`alter table ${name} enable row level security`);
      await runner.query(`alter table ${name} force row level security`);
      await runner.query(coarseV1(name));
    }
    await runner.query(`select usage_events_ensure(extract(epoch from now())::bigint)`);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const keyParts = 16;
const tenantTables = [
  'metric_copies',
  'usage_events',
  'usage_event_keys',
  'usage_uniques',
  'usage_counters',
  'usage_billings',
  'usage_adjustments',
  'usage_snapshots',
  'usage_notices',
];
/** With the numbers that a connection takes at once: a batch of events needs a thousand. */
const sequences = { usage_events_id_seq: 1_000, usage_adjustments_id_seq: 1 };

const statements = [
  `create table metric_copies (merchant_id bigint not null, id bigint not null, code text not null,
    archived boolean not null, data jsonb not null, version integer not null,
    constraint metric_copies_pkey primary key (merchant_id, id))`,
  `create index metric_copies_code on metric_copies (merchant_id, code)`,
  `create table usage_events (merchant_id bigint not null, id bigint not null, event_time bigint not null,
    user_id bigint not null, metric_id bigint not null, subscription_id text not null, external_event_id text not null,
    value bigint not null, unique_id text not null, properties text not null, counter_start bigint not null,
    counter_version integer not null, used bigint not null, metric_limit bigint not null, create_time bigint not null,
    deleted_time bigint not null, constraint usage_events_pkey primary key (merchant_id, id, event_time))
    partition by range (event_time)`,
  `create index usage_events_user on usage_events (merchant_id, user_id, metric_id, event_time)`,
  `create table usage_event_keys (merchant_id bigint not null, user_id bigint not null, metric_id bigint not null,
    external_event_id text not null, event_id bigint not null, event_time bigint not null, deleted boolean not null,
    constraint usage_event_keys_pkey primary key (merchant_id, user_id, metric_id, external_event_id))
    partition by hash (merchant_id, user_id)`,
  `create table usage_uniques (merchant_id bigint not null, subscription_id text not null, metric_id bigint not null,
    start_at bigint not null, unique_id text not null, events bigint not null,
    constraint usage_uniques_pkey primary key (merchant_id, subscription_id, metric_id, start_at, unique_id))`,
  `create table usage_counters (merchant_id bigint not null, subscription_id text not null, metric_id bigint not null,
    start_at bigint not null, end_at bigint not null, user_id bigint not null, period_start bigint not null,
    period_end bigint not null, events bigint not null, used bigint not null, latest_time bigint not null,
    latest_id bigint not null, min_event_id bigint not null, max_event_id bigint not null, adjusted bigint not null,
    version integer not null, price jsonb, closed boolean not null, billed_value bigint not null,
    billed_amount bigint not null, notice_due boolean not null, notice_at bigint not null, alerted integer not null, upgrade_asked boolean not null,
    constraint usage_counters_pkey primary key (merchant_id, subscription_id, metric_id, start_at),
    constraint usage_counters_stretch check (start_at < end_at and events >= 0))`,
  `create index usage_counters_user on usage_counters (merchant_id, user_id, metric_id, start_at)`,
  `create table usage_billings (merchant_id bigint not null, invoice_id text not null, subscription_id text not null,
    metric_id bigint not null, start_at bigint not null, value bigint not null, amount bigint not null,
    counter_version integer not null, cut boolean not null, create_time bigint not null,
    constraint usage_billings_pkey primary key (merchant_id, invoice_id, metric_id, start_at))`,
  `create index usage_billings_counter on usage_billings (merchant_id, subscription_id, metric_id, start_at)`,
  `create table usage_adjustments (merchant_id bigint not null, id bigint not null, subscription_id text not null,
    metric_id bigint not null, user_id bigint not null, period_start bigint not null, quota_type text not null,
    amount bigint not null, reason text not null, member_id bigint not null, member_email text not null,
    previous_limit bigint not null, previous_used bigint not null, create_time bigint not null,
    constraint usage_adjustments_pkey primary key (merchant_id, id),
    constraint usage_adjustments_type check (quota_type in ('carryover', 'manual')))`,
  `create index usage_adjustments_period on usage_adjustments (merchant_id, subscription_id, metric_id, period_start)`,
  `create unique index usage_adjustments_carryover on usage_adjustments
    (merchant_id, subscription_id, metric_id, period_start) where quota_type = 'carryover'`,
  `create table usage_snapshots (merchant_id bigint not null, invoice_id text not null, subscription_id text not null,
    user_id bigint not null, period_start bigint not null, limit_stats jsonb not null, paid_time bigint not null,
    constraint usage_snapshots_pkey primary key (merchant_id, invoice_id))`,
  `create index usage_snapshots_user on usage_snapshots (merchant_id, user_id, paid_time, invoice_id)`,
  `create index usage_snapshots_subscription on usage_snapshots (merchant_id, subscription_id, paid_time, invoice_id)`,
  `create table usage_notices (merchant_id bigint not null, notice_id text not null, user_id bigint not null,
    metric_id bigint not null, version integer not null,
    constraint usage_notices_pkey primary key (merchant_id, notice_id))`,
  // makes the partition of a second's month and of the next month
  `create function usage_events_ensure(at bigint) returns void language plpgsql security definer
    set search_path = public, pg_temp as $$
    declare first date := date_trunc('month', to_timestamp(at) at time zone 'utc'); name text; month date; begin
      perform pg_advisory_xact_lock(hashtext('usage_events_ensure'));
      foreach month in array array[first, (first + interval '1 month')::date] loop
        name := 'usage_events_' || to_char(month, 'YYYYMM');
        continue when to_regclass(name) is not null;
        execute format('create table %I (like usage_events including defaults including constraints)', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('alter table usage_events attach partition %I for values from (%s) to (%s)', name,
          extract(epoch from month::timestamp at time zone 'utc')::bigint,
          extract(epoch from (month + interval '1 month')::timestamp at time zone 'utc')::bigint);
        execute format('alter table %I alter merchant_id set statistics 10, alter id set statistics 10', name);
      end loop;
    end $$`,
  `revoke all on function usage_events_ensure(bigint) from public`,
  `grant execute on function usage_events_ensure(bigint) to billing_app`,
];
