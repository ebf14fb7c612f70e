import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Columns for payment/new: details of a payment, and the keys by which it finds a user. The defaults stay, since apps of
 * the previous version still write these tables.
 */
export class Purchases1763683200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table payments add external_payment_id text not null default '', add country_code text not null default '',
    add checkout jsonb`,
  `create unique index payments_external on payments (merchant_id, external_payment_id) where external_payment_id <> ''`,
  `alter table user_copies add email_key text not null default '', add external_user_id text not null default ''`,
  `alter table user_copies no force row level security`,
  `update user_copies set email_key = lower(data ->> 'email'), external_user_id = data ->> 'externalUserId'`,
  `alter table user_copies force row level security`,
  `create index user_copies_email on user_copies (merchant_id, email_key)`,
  `create index user_copies_external on user_copies (merchant_id, external_user_id)`,
];
