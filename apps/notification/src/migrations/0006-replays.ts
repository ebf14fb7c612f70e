import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Replays know what has come through since they began. */
export class Replays1763683200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // null is what replicas of the version before write, while they still run
    await runner.query('alter table replays add column attempts_after bigint');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
