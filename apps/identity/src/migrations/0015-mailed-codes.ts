import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Codes that are sent by e-mail, across merchants. */
export class MailedCodes1763683200015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table mailed_codes (
    purpose text not null, email_hash text not null, email text not null, request text not null,
    code_hash text not null, tries_left integer not null, expire_time bigint not null, sent boolean not null,
    constraint mailed_codes_pkey primary key (purpose, email_hash),
    constraint mailed_codes_tries check (tries_left >= 0))`,
  `create index mailed_codes_expire on mailed_codes (expire_time)`,
  `grant select, insert, update, delete on mailed_codes to identity_app`,
];
