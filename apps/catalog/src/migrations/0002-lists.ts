import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lists of products and plans come newest first, without sorting them. */
export class Lists1795262400002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create index products_newest on products (merchant_id, create_time, id)');
    await runner.query('create index plans_newest on plans (merchant_id, create_time, id)');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
