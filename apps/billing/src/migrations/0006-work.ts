import { createWorkTablesV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Invoices expire as work that falls due. A replica from before writes to `expiries` still while it is being replaced:
 * what it writes is scheduled instead. The table can go once nobody runs one.
 */
const expiries = [
  `insert into due_work select merchant_id, 'invoice.expire', invoice_id, due_time, 0 from expiries
    on conflict do nothing`,
  'delete from expiries',
  `create function expiry_is_work() returns trigger language plpgsql as $$ begin
    insert into due_work values (new.merchant_id, 'invoice.expire', new.invoice_id, new.due_time, 0)
      on conflict do nothing;
    return null; end $$`,
  'create trigger expiry_is_work before insert on expiries for each row execute function expiry_is_work()',
];

/** Work that falls due, and the clocks of a sandbox's merchants. */
export class Work1763683200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createWorkTablesV1(runner, 'billing');
    for (const statement of expiries) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
