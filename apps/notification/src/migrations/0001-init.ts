import { createPlatformTablesV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Endpoints, the events they wanted, deliveries, and what of these is due. */
export class Init1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createPlatformTablesV1(runner, 'notification');
    for (const statement of statements) await runner.query(statement);
    for (const name of ['endpoints', 'events', 'deliveries']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to notification_app`);
    }
    await runner.query('grant select, insert, update, delete on due to notification_app');
    await runner.query('create sequence endpoints_id_seq');
    await runner.query('grant usage on sequence endpoints_id_seq to notification_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table endpoints (
    merchant_id bigint not null, endpoint_id bigint not null, url text not null, events text[] not null,
    product_ids bigint[] not null, state text not null, disabled_because text, failures integer not null,
    failing_since_ms bigint, warned boolean not null, sealed_secret text not null, create_time bigint not null,
    modify_time bigint not null, version integer not null,
    constraint endpoints_pkey primary key (merchant_id, endpoint_id),
    constraint endpoints_state check (state in ('enabled', 'disabled')))`,
  `create table events (
    merchant_id bigint not null, event_id text not null, type text not null, at bigint not null, body text not null,
    constraint events_pkey primary key (merchant_id, event_id))`,
  `create table deliveries (
    merchant_id bigint not null, delivery_id text not null, endpoint_id bigint not null, event_id text not null,
    state text not null, attempts integer not null, next_at_ms bigint, create_time bigint not null,
    last_outcome text not null, last_answer text not null,
    constraint deliveries_pkey primary key (merchant_id, delivery_id),
    constraint deliveries_state check (state in ('scheduled', 'delivered', 'failed', 'missed')))`,
  `create unique index deliveries_once on deliveries (merchant_id, endpoint_id, event_id)`,
  `create table due (
    delivery_id text not null, merchant_id bigint not null, endpoint_id bigint not null, due_at_ms bigint not null,
    lease_token text, lease_until_ms bigint, constraint due_pkey primary key (delivery_id))`,
  `create index due_endpoint on due (endpoint_id, due_at_ms)`,
  `create index due_time on due (due_at_ms)`,
];
