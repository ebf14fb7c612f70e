import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The default product of each merchant that has others gets a row, so that lists show it. */
export class DefaultProducts1795262400012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  'alter table products no force row level security',
  `insert into products (merchant_id, id, version, status, product_name, description, home_url, image_url, metadata,
      create_time, modify_time, deleted_time, sort_name)
    select distinct merchant_id, 0, 0, 'active', 'Default', '', '', '', '{}'::jsonb, 0, 0, 0, 'default' from products
    on conflict do nothing`,
  'alter table products force row level security',
];
