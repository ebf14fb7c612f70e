import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deadlines of periods, and invoices of theirs that are made again. */
export class Cycle1763683200022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table subscription_periods add deadline bigint not null default 0,
      add remake_at bigint not null default 0, add times_made integer not null default 0`);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
