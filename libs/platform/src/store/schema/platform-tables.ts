import type { QueryRunner } from 'typeorm';
import { coarseV1 } from './migration-helpers.js';

/**
 * The infrastructure tables of every service. They belong to no merchant, have no row-level security, and are reached
 * only by the platform and through `db.infra`.
 *
 * outbox: events, written with the effect. unpublished: one row per statement that wrote events, until JetStream has
 * acknowledged all of them; its key is the first event, `characters` is an upper bound of their length (octet_length
 * needs no detoasting). Adding and removing one short row is cheaper than updating a column of each long one.
 * relay_state: the stream (by its creation time) that the outbox was published to, and the progress of a republication.
 * idempotency: stored answers. inbox, gate, dead_letter: see consumer.ts. tenants: merchants that have rows here.
 */
export async function createPlatformTablesV1(runner: QueryRunner, service: string): Promise<void> {
  for (const statement of [
    `create table outbox (
       seq bigint generated always as identity primary key, id text not null, type text not null,
       merchant_id bigint not null, aggregate text not null, aggregate_id text not null, version integer not null,
       envelope text not null, created_at bigint not null)`,
    `create table unpublished (seq bigint primary key)`,
    `create unique index outbox_version on outbox (merchant_id, aggregate, aggregate_id, version)`,
    `create table relay_state (only_row boolean primary key default true check (only_row),
       stream_created text not null, republish_from bigint not null default 0, republish_to bigint not null default 0)`,
    `create table idempotency (merchant_id bigint not null, key text not null, fingerprint text not null,
       request_id text not null, form text not null, answer text not null,
       created_at bigint not null, primary key (merchant_id, key))`,
    `create index idempotency_age on idempotency (created_at)`,
    `create index idempotency_sealed on idempotency (created_at) where form = 'sealed'`,
    `create table inbox (consumer text not null, event_id text not null, received_at bigint not null,
       primary key (consumer, event_id))`,
    `create index inbox_age on inbox (received_at)`,
    `create table gate (consumer text not null, merchant_id bigint not null, aggregate text not null,
       aggregate_id text not null, version integer not null,
       primary key (consumer, merchant_id, aggregate, aggregate_id))`,
    `create table dead_letter (consumer text not null, event_id text not null, merchant_id bigint not null,
       aggregate text not null, aggregate_id text not null, version integer not null, envelope text not null,
       reason text not null, parked_at bigint not null, primary key (consumer, event_id))`,
    ...['outbox', 'idempotency', 'inbox'].flatMap(name => [`alter table ${name} set (${shortLived})`, coarseV1(name)]),
    `create table copy_state (copy text primary key, built_at bigint not null)`,
    `create table tenants (merchant_id bigint primary key)`,
    `grant select, insert, update, delete on outbox, unpublished, relay_state, idempotency, inbox, gate, dead_letter, copy_state,
       tenants to ${service}_app`,
  ]) {
    await runner.query(statement);
  }
}

/**
 * `unpublished` gets one row per statement, instead of one per event. An older app would publish only the first event of
 * each and remove the row, so a schema with this migration names its own number as `worksFrom`.
 */
export async function listStatementsV2(runner: QueryRunner): Promise<void> {
  for (const statement of [
    'alter table unpublished rename column seq to first',
    'alter table unpublished add column seqs bigint[], add column characters bigint',
    `update unpublished set seqs = array[first],
       characters = coalesce((select length(envelope) from outbox where seq = first), 0)`,
    'alter table unpublished alter column seqs set not null, alter column characters set not null',
  ]) {
    await runner.query(statement);
  }
}

/** Indexes for dead letters: whether an earlier event of an aggregate is parked, and all of a consumer, in order. */
export async function indexDeadLettersV3(runner: QueryRunner): Promise<void> {
  await runner.query(
    'create index dead_letter_aggregate on dead_letter (consumer, merchant_id, aggregate, aggregate_id, version)',
  );
  await runner.query('create index dead_letter_order on dead_letter (consumer, version, event_id)');
}

/**
 * Autovacuum for rows that are inserted once, found by key and removed in bulk after a month. Freezing them, and
 * analyzing at every tenth more, would read everything that is new, and write it once more.
 */
const shortLived = 'autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 1';

/** The tables of every service without row-level security: the infrastructure tables and those of migrations. */
export const platformTables = [
  'outbox',
  'unpublished',
  'relay_state',
  'idempotency',
  'inbox',
  'gate',
  'dead_letter',
  'copy_state',
  'tenants',
  'due_work',
  'clocks',
  'schema_state',
  'migrations',
] as const;
