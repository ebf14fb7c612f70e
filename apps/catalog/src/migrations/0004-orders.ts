import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes of filters in the order of their lists. The last one includes the interval, so that a filter by least interval
 * is decided within the index on the way to a far page.
 */
export class Orders1795262400004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  'alter index plans_by_interval_unit rename to plans_by_interval',
  'create index plans_by_interval_unit on plans (merchant_id, interval_unit, create_time, id)',
  'create index plans_newest_interval on plans (merchant_id, create_time, id, interval_unit, interval_count)',
  'create index products_by_status on products (merchant_id, status, create_time, id)',
];
