import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Advances of a sandbox's clocks, one row per merchant. */
export class TestClocks1763683200020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table test_clocks (merchant_id bigint not null, version integer not null, offset_seconds bigint not null,
    target bigint not null, advancing boolean not null, done integer not null, asked_by text not null,
    constraint test_clocks_pkey primary key (merchant_id))`,
  'grant select, insert, update on test_clocks to billing_app',
  secureV1('test_clocks'),
];
