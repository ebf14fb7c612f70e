import { searchableV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes for the filters of the operation log: parts of members' names and e-mails, and the ids in entries. */
export class OperationLog1763683200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const texts = { first_name: 'new.first_name', last_name: 'new.last_name', email: 'new.email' };
    await runner.query(searchableV1('identity', 'members', 'id', texts));
    for (const [name, columns, where] of filters) {
      await runner.query(
        `create index operation_logs_${name} on operation_logs (merchant_id, ${columns}) where ${where}`,
      );
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

/**
 * Partial indexes, since most entries have only one or two of these ids. The indexes on members and users include each
 * other's column, so that a filter on both need not read all entries of a busy member or user.
 */
const filters = [
  ['member', 'member_id, create_time, id, user_id', 'member_id <> 0'],
  ['user', 'user_id, create_time, id, member_id', 'user_id <> 0'],
  ['plan', 'plan_id, create_time, id', 'plan_id <> 0'],
  ['invoice', 'invoice_id, create_time, id', `invoice_id <> ''`],
  ['subscription', 'subscription_id, create_time, id', `subscription_id <> ''`],
  ['discount', 'discount_code, create_time, id', `discount_code <> ''`],
];
