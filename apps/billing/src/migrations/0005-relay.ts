import { listStatementsV2 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Queues unpublished events per statement that wrote them. */
export class Relay1763683200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await listStatementsV2(runner);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
