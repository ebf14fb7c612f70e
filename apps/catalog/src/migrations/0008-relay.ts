import { listStatementsV2 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Pending events are listed per statement that wrote them. */
export class Relay1795262400008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await listStatementsV2(runner);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
