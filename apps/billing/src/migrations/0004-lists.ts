import { searchableV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An index for each list filter (see tables.ts), and user search by parts of names. Index-only scans need recently
 * vacuumed pages, so autovacuum runs more often than by default.
 */
export class Lists1763683200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    const texts = { first_name: `new.data ->> 'firstName'`, last_name: `new.data ->> 'lastName'` };
    await runner.query(searchableV1('billing', 'user_copies', 'id', texts));
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const often = 'set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02)';

const statements = [
  `drop index invoices_newest`,
  `create index invoices_newest on invoices (merchant_id, create_time, id, deleted_time, user_id, total_amount)`,
  `create index invoices_user on invoices (merchant_id, user_id, create_time, id, deleted_time)`,
  `create index invoices_in_status on invoices (merchant_id, status, create_time, id, deleted_time)`,
  `create index invoices_currency on invoices (merchant_id, currency, create_time, id, deleted_time)`,
  `create index invoices_gateway on invoices (merchant_id, gateway_id, create_time, id, deleted_time)`,
  `create index invoices_type on invoices (merchant_id, biz_type, create_time, id, deleted_time)`,
  `create index invoices_amount on invoices (merchant_id, total_amount, id, create_time, deleted_time)`,
  `create index invoices_finished on invoices (merchant_id, finish_time, create_time, id) where finish_time > 0`,
  // in this collation a prefix is a range, independently of the database's default
  `alter table invoices alter invoice_name type text collate "C"`,
  `create index invoices_name on invoices (merchant_id, invoice_name, create_time, id, deleted_time)
    where invoice_name <> ''`,
  `create index payments_user on payments (merchant_id, user_id, create_time, payment_id)`,
  `create index payments_in_status on payments (merchant_id, status, create_time, payment_id)`,
  `create index payments_currency on payments (merchant_id, currency, create_time, payment_id)`,
  `create index payments_gateway on payments (merchant_id, gateway_id, create_time, payment_id)`,
  `create index payments_country on payments (merchant_id, country_code, create_time, payment_id)
    where country_code <> ''`,
  `alter table invoices ${often}`,
  `alter table payments ${often}`,
];
