import { searchableV1, secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Links to the PDFs of finished invoices; e-mails to users, and search by subject and recipient. */
export class Documents1763683200016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(searchableV1('billing', 'mails', 'id', { texts: `new.title || ' ' || new.email` }));
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table invoices add column pdf_link text not null default ''`,
  `create table mails (merchant_id bigint not null, id bigint not null, kind text not null, invoice_id text not null,
    user_id bigint not null, email text not null, email_key text not null, sender_name text not null,
    reply_to text not null, title text not null, content text not null, attach_file text not null,
    status integer not null, attempts integer not null, response text not null, create_time bigint not null,
    sent_time bigint not null, constraint mails_pkey primary key (merchant_id, id))`,
  `create sequence mails_id_seq`,
  `grant usage on sequence mails_id_seq to billing_app`,
  `grant select, insert, update on mails to billing_app`,
  secureV1('mails'),
  `create index mails_newest on mails (merchant_id, create_time, id, status)`,
  `create index mails_email on mails (merchant_id, email_key, create_time, id)`,
  `create index mails_status on mails (merchant_id, status, create_time, id)`,
];
