import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Each document has a key of its own, under which its links are signed: links of before have no day and end here. */
export class DocumentKeys1763683200053 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table invoices add column document_key text not null default ''`);
    // the owner of the table sees all merchants meanwhile; nobody else does
    await runner.query('alter table invoices no force row level security');
    await runner.query(
      `update invoices set document_key = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
        where pdf_link <> ''`,
    );
    await runner.query('alter table invoices force row level security');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
