import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Secrets rotate; replays; events, deliveries and attempts stand in partitions of a week each, and go with them. */
export class Log1763683200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...columns, ...partitions]) await runner.query(statement);
    for (const [name, by, key] of [
      ['deliveries', 'event_id', 'merchant_id, delivery_id, event_id'],
      ['events', 'event_id', 'merchant_id, event_id'],
      ['attempts', 'create_time', 'merchant_id, id, create_time'],
    ] as const) {
      await runner.query(partitioned(name, by, key));
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to notification_app`);
    }
    // recreated, since the index was dropped with the table it was made for
    await runner.query('create unique index deliveries_once on deliveries (merchant_id, endpoint_id, event_id)');
    for (const statement of [...keeping, ...replays]) await runner.query(statement);
    await runner.query(secureV1('replays'));
    await runner.query('grant select, insert, update, delete on replays, running_replays to notification_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

// the default stays: while replicas of the version before still run, they make endpoints without it
const columns = [
  `alter table endpoints add column sealed_former text, add column former_until bigint not null default 0`,
];

const partitions = [
  // the smallest event id of a millisecond; ids sort by the time when they were made, and so do their texts
  `create function event_id_at(ms bigint) returns text language plpgsql immutable as $$
    declare id text := ''; rest bigint := ms; begin
      for place in 1..10 loop
        id := substr('0123456789abcdefghjkmnpqrstvwxyz', (rest % 32)::integer + 1, 1) || id;
        rest := rest / 32;
      end loop;
      return 'ev_' || id;
    end $$`,
  // where the week of that number begins, as a bound of a partition
  `create function week_bound(name text, week bigint) returns text language sql immutable as $$
    select case name when 'attempts' then (week * 604800)::text else quote_literal(event_id_at(week * 604800000)) end $$`,
];

/**
 * The table as partitions by week, with one that has all rows so far and ends with this week, and one for what fits no
 * other. Whoever reads a partition by itself sees nothing: it has row-level security and no policy, and those of the
 * whole hold for who reads the whole.
 */
const partitioned = (name: string, by: string, key: string) => `do $$
  declare
    week constant bigint := extract(epoch from now())::bigint / 604800;
    before constant text := '${name}_w' || week;
    old record;
    remade text[] := '{}';
  begin
    alter table ${name} rename to ${name}_before;
    alter table ${name}_before drop constraint ${name}_pkey;
    drop index if exists ${name}_once;
    drop policy ${name}_of_merchant on ${name}_before;
    alter table ${name}_before no force row level security;
    for old in select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = '${name}_before' loop
      execute format('alter index %I rename to %I', old.indexname, old.indexname || '_w' || week);
      remade := remade || replace(old.indexdef, ' ON public.${name}_before ', ' ON public.${name} ');
    end loop;
    create table ${name} (like ${name}_before including defaults including constraints) partition by range (${by});
    alter table ${name} add constraint ${name}_pkey primary key (${key});
    for place in 1..cardinality(remade) loop
      execute remade[place];
    end loop;
    execute format('alter table ${name}_before rename to %I', before);
    execute format('alter table ${name} attach partition %I for values from (minvalue) to (%s)',
      before, week_bound('${name}', week + 1));
    create table ${name}_default partition of ${name} default;
    alter table ${name}_default enable row level security;
  end $$`;

const week = 604_800_000;
const day = 86_400_000;

const keeping = [
  // runs as the owner, who alone may make and drop tables; answers what it has done
  `create function keep_partitions(now_ms bigint, kept_days integer) returns setof text
    language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '1s' as $$
    declare
      oldest_ms constant bigint := now_ms - kept_days * ${day}::bigint;
      number bigint;
      name text;
      held boolean;
    begin
      if not pg_try_advisory_xact_lock(hashtextextended('keep_partitions', 0)) then return; end if;
      for number in now_ms / ${week} .. now_ms / ${week} + 2 loop
        continue when to_regclass('deliveries_w' || number) is not null;
        begin
          foreach name in array array['deliveries', 'events', 'attempts'] loop
            execute format('create table %I partition of %I for values from (%s) to (%s)', name || '_w' || number, name,
              week_bound(name, number), week_bound(name, number + 1));
            execute format('alter table %I enable row level security', name || '_w' || number);
          end loop;
          -- what comes of a delivery is written in its place
          execute format('alter table %I set (fillfactor = 85)', 'deliveries_w' || number);
          return next 'made ' || number;
        exception when check_violation then
          -- rows of that week stand in the default partition already: there they stay
          null;
        end;
      end loop;
      for number in select substr(relname, length('deliveries_w') + 1)::bigint from pg_class, pg_inherits
        where inhparent = 'deliveries'::regclass and pg_class.oid = inhrelid and relname ~ '^deliveries_w[0-9]+$' order by 1
      loop
        continue when (number + 1) * ${week} > oldest_ms;
        -- what is to be sent yet keeps its week; again under the lock, behind which nobody schedules more
        execute format('select exists (select from due join %I using (merchant_id, delivery_id))', 'deliveries_w' || number)
          into held;
        continue when held;
        execute format('lock table %I in access exclusive mode', 'deliveries_w' || number);
        execute format('select exists (select from due join %I using (merchant_id, delivery_id))', 'deliveries_w' || number)
          into held;
        continue when held;
        foreach name in array array['deliveries', 'events', 'attempts'] loop
          execute format('drop table if exists %I', name || '_w' || number);
        end loop;
        return next 'dropped ' || number;
      end loop;
      delete from deliveries_default where ctid = any(array(select ctid from deliveries_default d
        where event_id < event_id_at(oldest_ms) and not exists (select from due where due.delivery_id = d.delivery_id)
        limit 10000));
      delete from events_default where ctid = any(array(select ctid from events_default e
        where event_id < event_id_at(oldest_ms) and not exists (select from deliveries_default d
          where d.merchant_id = e.merchant_id and d.event_id = e.event_id)
        limit 10000));
      delete from attempts_default where ctid = any(array(select ctid from attempts_default
        where create_time < oldest_ms / 1000 limit 10000));
    end $$`,
  'revoke all on function keep_partitions(bigint, integer) from public',
  'grant execute on function keep_partitions(bigint, integer) to notification_app',
];

const replays = [
  `create table replays (
    merchant_id bigint not null, replay_id text not null, endpoint_id bigint not null, state text not null,
    events text[] not null, delivered_too boolean not null, cursor text not null, until text not null,
    total integer not null, scheduled integer not null, create_time bigint not null, end_time bigint not null,
    constraint replays_pkey primary key (merchant_id, replay_id),
    constraint replays_state check (state in ('running', 'finished', 'cancelled', 'stopped')))`,
  `create unique index replays_running on replays (merchant_id, endpoint_id) where state = 'running'`,
  `create table running_replays (
    replay_id text not null, merchant_id bigint not null, endpoint_id bigint not null,
    constraint running_replays_pkey primary key (replay_id))`,
];
