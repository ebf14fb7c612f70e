import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Catch-ups run as work that falls due. A replica from before only inserts into `catch_ups` while it is being replaced:
 * its rows are scheduled too. The trigger can go once no such replica runs.
 */
const statements = [
  `create function catch_up_is_work() returns trigger language plpgsql as $$ begin
    insert into due_work values (new.merchant_id, 'webhook.catch_up', new.endpoint_id::text,
      extract(epoch from now())::bigint, 0) on conflict do nothing;
    return null; end $$`,
  'create trigger catch_up_is_work after insert on catch_ups for each row execute function catch_up_is_work()',
  `insert into due_work select merchant_id, 'webhook.catch_up', endpoint_id::text, extract(epoch from now())::bigint, 0
    from catch_ups on conflict do nothing`,
];

export class CatchUps1763683200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
