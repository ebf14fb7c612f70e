import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Expiry times of open invoices; rows are added for those that are already open. */
export class Payments1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table expiries (due_time bigint not null, merchant_id bigint not null, invoice_id text not null,
    constraint expiries_pkey primary key (due_time, merchant_id, invoice_id))`,
  `grant select, insert, update, delete on expiries to billing_app`,
  `alter table invoices no force row level security`,
  `insert into expiries select finish_time + days_until_due * 86400 + 1200, merchant_id, invoice_id
    from invoices where status = 'processing'`,
  `alter table invoices force row level security`,
];
