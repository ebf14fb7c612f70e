import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The copy of billing's credit accounts, which answers about users show. */
export class CreditAccounts1763683200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('credit_account_copies'));
    await runner.query('grant select, insert, update, delete on credit_account_copies to identity_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table credit_account_copies (
    merchant_id bigint not null, id bigint not null, user_id bigint not null, data jsonb not null,
    version integer not null, constraint credit_account_copies_pkey primary key (merchant_id, id))`,
  'create index credit_account_copies_user on credit_account_copies (merchant_id, user_id, id)',
];
