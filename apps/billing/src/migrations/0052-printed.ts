import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A line keeps the time that it was printed with, while the time that it sells is moved or ends. */
export class Printed1763683200052 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `alter table invoice_lines add column printed_start bigint not null default 0,
        add column printed_end bigint not null default 0`,
    );
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
