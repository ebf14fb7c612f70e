import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An open invoice knows the method that it was last tried with or is tried with at once, and that it waits for one. */
export class TriedMethods1763683200046 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `alter table collections add column last_method_id text not null default '',
        add column try_method_id text not null default '',
        add column awaits_method boolean not null default false`,
    );
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
