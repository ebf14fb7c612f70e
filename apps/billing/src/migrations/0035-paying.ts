import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * invoice_links finds the invoice behind a payment link: it belongs to no merchant's rows, holds digests
 * of tokens, and keeps the links that an invoice had before. A trigger fills it, so that no way to a link misses it.
 */
export class Paying1763683200035 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const statement of filled) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const tokenHash = (link: string) => `sha256(convert_to(substring(${link} from '[^/]+$'), 'UTF8'))`;

const statements = [
  'create table invoice_links (token_hash bytea primary key, merchant_id bigint not null, invoice_id text not null)',
  'grant select, insert on invoice_links to billing_app',
  `create function invoice_links_keep() returns trigger language plpgsql as $$ begin
    insert into invoice_links values (${tokenHash('new.link')}, new.merchant_id, new.invoice_id)
      on conflict do nothing;
    return null;
  end $$`,
  `create trigger invoice_links_insert after insert on invoices
    for each row when (new.link <> '') execute function invoice_links_keep()`,
  `create trigger invoice_links_update after update of link on invoices
    for each row when (new.link <> '' and new.link is distinct from old.link) execute function invoice_links_keep()`,
];

const filled = [
  'alter table invoices no force row level security',
  `insert into invoice_links select ${tokenHash('link')}, merchant_id, invoice_id from invoices where link <> ''
    on conflict do nothing`,
  'alter table invoices force row level security',
];
