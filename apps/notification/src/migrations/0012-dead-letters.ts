import { indexDeadLettersV3 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Parked events are found by index, however many there are. */
export class DeadLetters1763683200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await indexDeadLettersV3(runner);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
