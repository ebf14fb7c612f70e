import { createWorkTablesV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Seconds after which a session ends for want of use, when this was written. */
const idleSeconds = 28_800;

/**
 * Sessions end as work that falls due. A replica from before opens sessions without scheduling it while it is being
 * replaced: the trigger does it at the end of its transaction, unless it was done. The trigger can go once no such
 * replica runs. The indexes served the sweep that did this before; without them, recording a session's use writes none.
 */
const sessions = [
  `insert into due_work
    select merchant_id, 'session.end', member_id::text, min(least(active_time + ${idleSeconds}, expire_time)), 0
    from live_sessions group by merchant_id, member_id`,
  'drop index live_sessions_idle, live_sessions_expire',
  `create function session_end_is_work() returns trigger language plpgsql as $$ begin
    insert into due_work values (new.merchant_id, 'session.end', new.member_id::text,
      least(new.active_time + ${idleSeconds}, new.expire_time), 0) on conflict do nothing;
    return null; end $$`,
  `create constraint trigger session_end_is_work after insert on live_sessions deferrable initially deferred
    for each row execute function session_end_is_work()`,
];

/** Work that falls due, and the clocks of a sandbox's merchants. */
export class Work1763683200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createWorkTablesV1(runner, 'identity');
    for (const statement of sessions) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
