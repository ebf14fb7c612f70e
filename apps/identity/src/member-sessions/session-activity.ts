import { Injectable } from '@nestjs/common';
import type { In, reportActivity } from '@recur/contracts';
import { Db, eachItem, type Work, work } from '@recur/platform';
import { members } from '../members/tables.js';
import { MemberSessions, sessionEnd } from './member-sessions.js';

/** Records the use of sessions, and ends those that were idle for 8 hours or whose tokens have expired. */
@Injectable()
export class SessionActivity {
  /** Ends sessions one member at a time: publishing to gateways takes the last lock of a transaction. */
  readonly work: Work = work(
    sessionEnd,
    { time: 'machine', batch: 1 },
    eachItem(async (tx, { key }) => {
      const { id } = await tx.lock(members, { id: Number(key) }, 'internal_error');
      if ((await this.sessions.endIdle(tx, id)) > 0) tx.log(`Member(${id})`, 'EndSession');
    }),
  );

  constructor(
    private readonly db: Db,
    private readonly sessions: MemberSessions,
  ) {}

  /** Answers `reportActivity`. Locks rows in order of sid, so that gateways' reports do not deadlock. */
  async record({ sessions }: In<typeof reportActivity>): Promise<Record<string, never>> {
    const sids = sessions.map(({ sid }) => sid);
    const times = sessions.map(({ at }) => at);
    await this.db.infra(
      `with held as (select sid from live_sessions where sid = any($1::text[]) order by sid for update)
       update live_sessions s set active_time = greatest(s.active_time, least(used.at, $3))
       from held join unnest($1::text[], $2::bigint[]) used (sid, at) on used.sid = held.sid where s.sid = held.sid`,
      [sids, times, this.sessions.seconds()],
    );
    return {};
  }
}
