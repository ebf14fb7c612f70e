import { createWorkTablesV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Replays run as work that falls due. A replica from before writes to `running_replays` while it is being replaced: its
 * rows are scheduled instead. The table can go once no such replica runs.
 */
const replays = [
  `insert into due_work select merchant_id, 'webhook.replay', replay_id, 0, 0 from running_replays on conflict do nothing`,
  'delete from running_replays',
  `create function replay_is_work() returns trigger language plpgsql as $$ begin
    insert into due_work values (new.merchant_id, 'webhook.replay', new.replay_id, 0, 0) on conflict do nothing;
    return null; end $$`,
  'create trigger replay_is_work before insert on running_replays for each row execute function replay_is_work()',
];

/** Work that falls due, and the clocks of a sandbox's merchants. */
export class Work1763683200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createWorkTablesV1(runner, 'notification');
    for (const statement of replays) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
