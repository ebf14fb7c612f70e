import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Claims read what they take and no more: keyset order, the event in the work list, and a sweep with a fixed plan. */
export class Claiming1763683200008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  // null in rows written by replicas of the previous version, while they still run
  'alter table due add column event_id text',
  'create index due_waiting on due (endpoint_id, due_at_ms, delivery_id) where not held',
  'drop index due_endpoint',
  // A lease is no part of an index, so claiming is a HOT update: half of each page is free for the rows of one event,
  // which are adjacent and claimed together. Rows live for moments, so the table is vacuumed often and without pauses.
  `alter table due set (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0)`,
  // The sweep. A plan made while the table is empty must still be an index scan when it is full.
  `create function due_endpoints(now_ms bigint, after_endpoint bigint, most integer)
    returns table (merchant_id bigint, endpoint_id bigint) language plpgsql stable
    set enable_seqscan = off set enable_bitmapscan = off as $$
    declare
      found_count integer := 0;
    begin
      endpoint_id := after_endpoint;
      while found_count < most loop
        select d.merchant_id, d.endpoint_id into due_endpoints.merchant_id, due_endpoints.endpoint_id from due d
          where not d.held and d.endpoint_id > due_endpoints.endpoint_id order by d.endpoint_id limit 1;
        exit when not found;
        if exists (select from due d where d.endpoint_id = due_endpoints.endpoint_id and not d.held
            and d.due_at_ms <= now_ms and (d.lease_until_ms is null or d.lease_until_ms < now_ms)) then
          found_count := found_count + 1;
          return next;
        end if;
      end loop;
    end $$`,
  'revoke all on function due_endpoints(bigint, bigint, integer) from public',
  'grant execute on function due_endpoints(bigint, bigint, integer) to notification_app',
];
