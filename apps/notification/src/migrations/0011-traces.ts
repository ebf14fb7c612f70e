import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The trace that an event is part of, for the spans of its deliveries. Replicas from before leave it empty. */
export class Traces1763683200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table events add column traceparent text not null default ''`);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
