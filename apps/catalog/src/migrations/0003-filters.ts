import { searchableV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Columns and indexes for filtering and sorting lists of plans. The default stays, since an app of the previous version
 * still writes plans. All texts are searched together: a search names no field.
 */
export class Filters1795262400003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const [name, columns] of Object.entries(indices)) {
      await runner.query(`create index ${name} on plans (merchant_id, ${columns}, id)`);
    }
    await runner.query(searchableV1('catalog', 'plans', 'id', { texts }));
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table plans add sort_name text not null default ''`,
  `alter table plans no force row level security`,
  `update plans set sort_name = left(lower(plan_name), 100)`,
  `alter table plans force row level security`,
];

const indices = {
  plans_by_name: 'sort_name',
  plans_by_amount: 'amount',
  plans_by_status: 'status, create_time',
  plans_by_publish_status: 'publish_status, create_time',
  plans_by_type: 'type, create_time',
  plans_by_product: 'product_id, create_time',
  plans_by_currency: 'currency, create_time',
  plans_by_interval_unit: 'interval_unit, interval_count, create_time',
  plans_by_interval_count: 'interval_count, create_time',
};

const texts = ['plan_name', 'internal_name', 'external_plan_id', 'description']
  .map(column => `new.${column}`)
  .join(` || E'\\x1f' || `);
