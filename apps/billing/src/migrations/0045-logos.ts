import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Logos of merchants, as they are printed. */
export class Logos1763683200045 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table seller_logos (merchant_id bigint not null, url text not null, image text not null,
    fetch_time bigint not null, constraint seller_logos_pkey primary key (merchant_id, url))`,
  'grant select, insert, update on seller_logos to billing_app',
  secureV1('seller_logos'),
];
