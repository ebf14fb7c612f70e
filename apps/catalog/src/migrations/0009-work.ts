import { createWorkTablesV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Work that falls due, and the clocks of a sandbox's merchants. */
export class Work1795262400009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createWorkTablesV1(runner, 'catalog');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
