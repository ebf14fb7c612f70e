import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { In, reportActivity } from '@recur/contracts';
import { Db, LOG, type Log, PeriodicTask, systemCaller, type Worker } from '@recur/platform';
import { memberAggregate } from '../members/aggregates.js';
import { MemberSessions } from './member-sessions.js';
import type { LiveSession } from './tables.js';

const sweep = { everyMs: 30_000, batch: 500 } as const;
const idleSeconds = 28_800;

/** Records the use of sessions, and ends those that were idle for 8 hours or whose tokens have expired. */
@Injectable()
export class SessionActivity implements Worker {
  private readonly task = new PeriodicTask(
    sweep.everyMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'could not end idle sessions'),
  );

  constructor(
    private readonly db: Db,
    private readonly sessions: MemberSessions,
    @Inject(LOG) private readonly log: Log,
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

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Ends idle and expired sessions, member by member. */
  async sweep(): Promise<void> {
    for (let due = 1; due > 0 && !this.task.stopped; ) {
      const at = this.sessions.seconds();
      const rows = await this.db.infra(
        `select distinct merchant_id, member_id from (
           (select merchant_id, member_id from live_sessions where active_time <= $1 order by active_time limit ${sweep.batch})
           union all
           (select merchant_id, member_id from live_sessions where expire_time <= $2 order by expire_time limit ${sweep.batch})
         ) due`,
        [at - idleSeconds, at],
      );
      due = rows.length;
      for (const row of rows) await this.endIdle(Number(row.merchant_id), Number(row.member_id));
    }
  }

  private async endIdle(merchantId: number, memberId: number): Promise<void> {
    const caller = systemCaller(merchantId, `idle-${randomUUID()}`, Number.POSITIVE_INFINITY);
    await this.db.write(caller, async tx => {
      const { id } = await tx.lock(memberAggregate, memberId, 'internal_error');
      const at = this.sessions.seconds();
      const isOver = ({ activeTime, expireTime }: LiveSession) => activeTime <= at - idleSeconds || expireTime <= at;
      const ended = await this.sessions.endThose(tx, id, isOver);
      if (ended > 0) tx.log(`Member(${id})`, 'EndSession');
      return {};
    });
  }
}
