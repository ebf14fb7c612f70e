import type { QueryRunner } from 'typeorm';

/**
 * due_work: work that falls due, one item per (merchant, kind, key); merchant 0 if it belongs to none. `due_at` is in
 * unix seconds on the clock of its kind: the merchant's, or the machine's. `lease_until` is the machine time before which
 * an item cannot be claimed: it is leased (`lease`), or waits after a failure; null until it is claimed for the first
 * time. A parked item (`parked_at`, `reason`) is not retried until the resume command.
 * clocks: how far the clocks of a sandbox's merchants are ahead of the machine's; others have no row.
 *
 * The indexes of claimable items are partial so that statements that name an item by its key, and do not say
 * `parked_at is null`, can only use the primary key (see store/due/indexed.ts). Rows come and go by the minute: they are
 * vacuumed early, and not worth freezing.
 */
export async function createWorkTablesV1(runner: QueryRunner, service: string): Promise<void> {
  for (const statement of [
    `create table due_work (merchant_id bigint not null, kind text not null, key text not null, due_at bigint not null,
       attempts integer not null, lease_until bigint, lease text, reason text, parked_at bigint,
       primary key (merchant_id, kind, key)) with (autovacuum_vacuum_threshold = 1000,
       autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0)`,
    `create index due_work_order on due_work (kind, coalesce(lease_until, due_at), merchant_id)
       where parked_at is null`,
    `create index due_work_merchant on due_work (kind, merchant_id, coalesce(lease_until, due_at), due_at, key)
       where parked_at is null`,
    `create index due_work_claimed on due_work (kind, merchant_id, lease_until)
       where parked_at is null and lease_until is not null`,
    `create index due_work_parked on due_work (kind, parked_at) where parked_at is not null`,
    `create table clocks (merchant_id bigint primary key, offset_seconds bigint not null check (offset_seconds >= 0))`,
    `grant select, insert, update, delete on due_work, clocks to ${service}_app`,
  ]) {
    await runner.query(statement);
  }
}
