import { Controller } from '@nestjs/common';
import { type In, userCount } from '@recur/contracts';
import { type Caller, Db, given, Handle } from '@recur/platform';
import { parts } from './domain/spans.js';

/** Bounds (unix seconds) outside of which no user is ever created. */
const time = { start: 0, end: 100_000_000_000 } as const;

const arrays = (at: number) => `unnest($${at}::bigint[], $${at + 1}::bigint[], $${at + 2}::bigint[])`;

/** $2, $3, $4: span, start and end of the tallied parts; $5, $6: start and end of the parts to count row by row. */
const usersCountText = `select
  (select coalesce(sum(s.n), 0) from ${arrays(2)} part (span, from_time, to_time) cross join lateral (
     select sum(n) as n from user_tallies where merchant_id = $1 and span = part.span
       and start_time >= from_time and start_time < to_time) s)
  + (select coalesce(sum(s.n), 0) from unnest($5::bigint[], $6::bigint[]) part (from_time, to_time) cross join lateral (
     select count(*) as n from users where merchant_id = $1
       and create_time >= from_time and create_time < to_time) s) as total`;

/** Counts users by time of creation. */
@Controller()
export class UserCount {
  constructor(private readonly db: Db) {}

  /** Exact and fast at any size: whole days and minutes are tallied as users are created. */
  @Handle(userCount)
  count({ createTimeStart, createTimeEnd }: In<typeof userCount>, caller: Caller) {
    const from = Math.max(given(createTimeStart) ?? time.start, time.start);
    const to = Math.min((given(createTimeEnd) ?? time.end) + 1, time.end);
    const all = parts(from, to);
    const whole = all.filter(({ span }) => span > 1);
    const edges = all.filter(({ span }) => span === 1);
    return this.db.read(caller, async reader => {
      const [row] = await reader.query(usersCountText, [
        reader.merchantId,
        whole.map(part => part.span),
        whole.map(part => part.from),
        whole.map(part => part.to),
        edges.map(part => part.from),
        edges.map(part => part.to),
      ]);
      return { total: Number(row?.total) };
    });
  }
}
