import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A period knows when its draft, which waits for usage, is finished. */
export class Arrears1763683200040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table subscription_periods add column finish_at bigint not null default 0');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
