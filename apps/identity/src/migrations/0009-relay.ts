import { listStatementsV2 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Events are queued for publishing per statement that wrote them. */
export class Relay1763683200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await listStatementsV2(runner);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
