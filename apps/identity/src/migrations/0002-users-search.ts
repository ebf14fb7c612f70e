import { searchable } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Names and e-mails of users, searchable by any part. */
export class UsersSearch1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const texts = { first_name: 'new.first_name', last_name: 'new.last_name', email: 'new.email' };
    await runner.query(searchable('identity', 'users', 'id', texts));
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
