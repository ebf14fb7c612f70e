import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Payments and refunds name the subscription of their invoice. */
export class PaidSubscriptions1763683200060 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables) {
      await runner.query(`alter table ${table} add column subscription_id text not null default ''`);
    }
    // the owner of the tables sees all merchants meanwhile; nobody else does
    for (const table of ['invoices', ...tables]) {
      await runner.query(`alter table ${table} no force row level security`);
    }
    for (const table of tables) {
      await runner.query(`update ${table} t set subscription_id = i.subscription_id from invoices i
        where i.merchant_id = t.merchant_id and i.invoice_id = t.invoice_id and i.subscription_id <> ''`);
    }
    for (const table of ['invoices', ...tables]) await runner.query(`alter table ${table} force row level security`);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const tables = ['payments', 'refunds'];
