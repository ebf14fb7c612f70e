import { searchableV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the operation log is filtered by: members by any part of their names and e-mails, entries by their ids. */
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
 * Most entries have but one or two of these, so each index holds only the entries that do. Those of members and users
 * hold each other's column: who looks for both need not read the entries of a busy one.
 */
const filters = [
  ['member', 'member_id, create_time, id, user_id', 'member_id <> 0'],
  ['user', 'user_id, create_time, id, member_id', 'user_id <> 0'],
  ['plan', 'plan_id, create_time, id', 'plan_id <> 0'],
  ['invoice', 'invoice_id, create_time, id', `invoice_id <> ''`],
  ['subscription', 'subscription_id, create_time, id', `subscription_id <> ''`],
  ['discount', 'discount_code, create_time, id', `discount_code <> ''`],
];
