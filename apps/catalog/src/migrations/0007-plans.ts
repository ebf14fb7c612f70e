import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Deletion of plans, their charging rules, and indexes for the remaining list orders. The defaults stay, since an app of
 * the previous version still writes plans and products. Deleted rows are in no index of a list.
 */
export class Plans1795262400007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const [name, columns] of Object.entries(indices)) {
      const [table] = name.split('_');
      await runner.query(`drop index if exists ${name}`);
      await runner.query(`create index ${name} on ${table} (merchant_id, ${columns}) where deleted_time = 0`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  'alter table plans add deleted_time bigint not null default 0, add auto_charge_config jsonb',
  `alter table products add sort_name text not null default ''`,
  'alter table products no force row level security',
  'update products set sort_name = left(lower(product_name), 100)',
  'alter table products force row level security',
  'drop index plans_newest_interval',
  'drop index plans_external_id',
  `create unique index plans_external_id on plans (merchant_id, external_plan_id)
    where external_plan_id <> '' and deleted_time = 0`,
];

const filters = 'status, publish_status, type, product_id, currency, interval_unit, interval_count';

const indices = {
  products_newest: 'create_time, id',
  products_by_status: 'status, create_time, id',
  products_by_name: 'sort_name, id, status',
  plans_newest: `create_time, id, ${filters}`,
  plans_by_name: `sort_name, id, ${filters}`,
  plans_by_amount: `amount, id, ${filters}`,
  plans_by_status: 'status, create_time, id',
  plans_by_publish_status: 'publish_status, create_time, id',
  plans_by_type: 'type, create_time, id',
  plans_by_product: 'product_id, create_time, id',
  plans_by_currency: 'currency, create_time, id',
  plans_by_interval_unit: 'interval_unit, create_time, id',
  plans_by_interval_count: 'interval_count, create_time, id',
  plans_by_interval: 'interval_unit, interval_count, create_time, id',
};
