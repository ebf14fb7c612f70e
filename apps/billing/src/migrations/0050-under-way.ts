import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A subscription keeps what its submit asked for; charges that were ended and are not yet released are found by user. */
export class UnderWay1763683200050 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table subscriptions add column asked text not null default ''`);
    await runner.query(
      `create index payments_unreleased on payments (merchant_id, user_id)
        where outcome <> '' and status in ('cancelled', 'failed')`,
    );
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
