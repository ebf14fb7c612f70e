import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Exports of lists, their files in parts, and templates of exports. */
export class Exports1763683200065 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['tasks', 'task_parts', 'export_templates']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    for (const name of ['tasks_id_seq', 'export_templates_id_seq']) {
      await runner.query(`create sequence ${name}`);
      await runner.query(`grant usage on sequence ${name} to billing_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table tasks (merchant_id bigint not null, id bigint not null, member_id bigint not null,
    task text not null, format text not null, payload jsonb not null, columns text[] not null, status text not null,
    position text not null, row_count bigint not null, parts integer not null, file_bytes bigint not null, crc bigint not null,
    raw_bytes bigint not null, failure_reason text not null, link_key text not null, create_time bigint not null,
    start_time bigint not null, finish_time bigint not null, modify_time bigint not null,
    constraint tasks_pkey primary key (merchant_id, id),
    constraint tasks_status check (status in ('queued', 'running', 'done', 'failed')))`,
  'create index tasks_newest on tasks (merchant_id, create_time, id)',
  'create index tasks_member on tasks (merchant_id, member_id, create_time, id)',
  `create index tasks_open on tasks (merchant_id) where status in ('queued', 'running')`,
  `create table task_parts (merchant_id bigint not null, task_id bigint not null, part integer not null,
    content bytea not null, constraint task_parts_pkey primary key (merchant_id, task_id, part))`,
  `create table export_templates (merchant_id bigint not null, id bigint not null, member_id bigint not null,
    task text not null, name text not null, payload jsonb not null, columns text[] not null, format text not null,
    create_time bigint not null, constraint export_templates_pkey primary key (merchant_id, id))`,
  'create index export_templates_newest on export_templates (merchant_id, create_time, id)',
];
