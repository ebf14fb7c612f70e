import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Settings of merchants for their invoices, the copy of products, and credit notes with several refunds. */
export class InvoiceSettings1763683200021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['invoice_settings', 'product_copies']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table invoice_settings (
    merchant_id bigint not null, show_zero_invoice boolean not null, invoice_email boolean not null,
    keep_after_dispute boolean not null,
    constraint invoice_settings_pkey primary key (merchant_id))`,
  `create table product_copies (
    merchant_id bigint not null, id bigint not null, data jsonb not null, version integer not null,
    constraint product_copies_pkey primary key (merchant_id, id))`,
  `drop index refunds_note`,
  `create index refunds_note on refunds (merchant_id, credit_note_id)`,
];
