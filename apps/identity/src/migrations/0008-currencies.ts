import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Copies of merchants' currency rule sets, which merchant/get answers. */
export class Currencies1763683200008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table currency_copies (
      merchant_id bigint not null, sets jsonb not null, version integer not null,
      constraint currency_copies_pkey primary key (merchant_id))`);
    await runner.query(secureV1('currency_copies'));
    await runner.query('grant select, insert, update, delete on currency_copies to identity_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
