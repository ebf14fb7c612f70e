import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sending of a document by e-mail: 0 not yet, 1 sent, 2 unnecessary. */
export class SendStatus1763683200026 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table invoices add column send_status integer not null default 0');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
