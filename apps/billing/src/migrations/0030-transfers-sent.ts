import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When users said that the transfer for a payment was sent. */
export class TransfersSent1763683200030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table payments add announced_time bigint not null default 0');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
