import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Members' e-mails are unique per merchant, no longer per deployment: the lookup from an e-mail has a row per merchant.
 * Providers record the grant of whoever set their key. Existing ones keep signing in every member.
 */
export class Hardening1763683200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table member_emails add column pending boolean not null default false`,
  `alter table member_emails drop constraint member_emails_pkey,
    add constraint member_emails_pkey primary key (email_hash, merchant_id)`,
  `alter table auth_providers add column granted text not null default '*'`,
];
