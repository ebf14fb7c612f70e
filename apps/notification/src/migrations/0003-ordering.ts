import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Endpoints that want the events of each object in order; what an endpoint missed comes when it is enabled again. */
export class Ordering1763683200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query('grant select, insert, update, delete on catch_ups to notification_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  // the defaults stay: while replicas of the version before still run, they write rows without these columns
  'alter table endpoints add column ordered boolean not null default false',
  `alter table events add column subject text not null default '', add column sequence integer not null default 0`,
  `alter table due add column subject text, add column sequence integer not null default 0,
    add column held boolean not null default false`,
  // a claim changes a row in place, and most rows are gone a moment later
  'alter table due set (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05)',
  'alter table deliveries set (fillfactor = 85)',
  'drop index due_endpoint',
  'drop index due_time',
  'create index due_endpoint on due (endpoint_id, due_at_ms) where not held',
  'create index due_subject on due (endpoint_id, subject, sequence) where subject is not null',
  `create index deliveries_missed on deliveries (merchant_id, endpoint_id, delivery_id) where state = 'missed'`,
  `create table catch_ups (
    endpoint_id bigint not null, merchant_id bigint not null, constraint catch_ups_pkey primary key (endpoint_id))`,
];
