import { createWorkTablesV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Work that falls due, and the clocks of a sandbox's merchants. */
export class Work1763683200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createWorkTablesV1(runner, 'notification');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
