import { Controller, Inject } from '@nestjs/common';
import {
  cancelReplay,
  type In,
  replayDetail,
  replayStatus,
  replayWebhooks,
  type WebhookReplay,
} from '@recur/contracts';
import { invalid, newId, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, Handle, type Reader, type Tx } from '@recur/platform';
import type { Config } from '../../config.js';
import { findEndpoint, lockEnabledEndpoint } from '../../endpoints/rows.js';
import { ended, statesOf } from './domain/replay.js';
import { Replayer } from './replayer.js';
import { type ReplayRow, replays } from './tables.js';

/** Deliveries that one time range may hold, and old replays that a new one removes. */
const limits = { lookedAt: 100_000, removed: 100 } as const;

/** Replays are kept as long as the deliveries that they sent. */
const removeExpiredReplays = `delete from replays where merchant_id = $1 and replay_id = any(array(
    select replay_id from replays where merchant_id = $1 and state <> 'running' and end_time < $2
    order by replay_id limit ${limits.removed}))`;

/** Missed deliveries of an endpoint that is catching up are not counted: the catch-up sends them. */
const countMatching = `with looked as materialized (select event_id, state from deliveries
    where merchant_id = $1 and endpoint_id = $2 and event_id > $3 and event_id < $4
    order by event_id limit ${limits.lookedAt + 1})
  select (select count(*) from looked) as looked, (select count(*) from looked
    where state = any($5) and (state <> 'missed' or not exists (select from catch_ups where endpoint_id = $2))
      and (cardinality($6::text[]) = 0 or exists (select from events e
      where e.merchant_id = $1 and e.event_id = looked.event_id and e.type = any($6)))) as fitting`;

/** Operations on replays. `Replayer` does their work, a bounded number of deliveries at a time. */
@Controller()
export class Replays {
  constructor(
    private readonly db: Db,
    private readonly replayer: Replayer,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(replayWebhooks)
  async replay(options: In<typeof replayWebhooks>, caller: Caller) {
    const { endpointId, dryRun } = options;
    const range = this.rangeOf(options);
    if (dryRun) {
      return this.db.read(caller, async reader => {
        await findEndpoint(reader, endpointId);
        return { replayId: '', count: await this.count(reader, options, range) };
      });
    }
    return this.db.write(caller, async tx => {
      await lockEnabledEndpoint(tx, endpointId);
      await tx.run(removeExpiredReplays, [tx.merchantId, tx.now - this.config.WEBHOOK_KEPT_DAYS * 86_400]);
      const count = await this.count(tx, options, range);
      const replay: ReplayRow = {
        merchantId: tx.merchantId,
        replayId: tx.newId('rp_'),
        endpointId,
        state: 'running',
        events: [...new Set(options.events ?? [])],
        deliveredToo: options.deliveredToo,
        cursor: range.from,
        until: range.until,
        attemptsAfter: options.deliveredToo ? await this.attemptsSoFar(tx) : null,
        total: count,
        scheduled: 0,
        createTime: tx.now,
        endTime: 0,
      };
      const { replayId } = replay;
      tx.onConflict('replays_running', () => new Rejected('replay_running'));
      tx.save(replays, count === 0 ? ended(replay, 'finish', tx.now) : replay);
      if (count > 0) this.replayer.begin(tx, replayId);
      tx.log(`WebhookEndpoint(${endpointId})`, `Replay ${replayId}`);
      return { replayId, count };
    });
  }

  @Handle(replayDetail)
  detail({ replayId }: In<typeof replayDetail>, caller: Caller) {
    return this.db.read(caller, async reader => ({
      replay: replayView(await reader.get(replays, { replayId }, 'replay_not_found')),
    }));
  }

  @Handle(cancelReplay)
  cancel({ replayId }: In<typeof cancelReplay>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const replay = await tx.lock(replays, { replayId }, 'replay_not_found');
      if (replay.state !== 'running') return {};
      tx.save(replays, ended(replay, 'cancel', tx.now));
      this.replayer.cancel(tx, replayId);
      tx.log(`WebhookEndpoint(${replay.endpointId})`, `CancelReplay ${replayId}`);
      return {};
    });
  }

  /** A time range as event ids, which sort by creation time; it ends now at the latest. */
  private rangeOf({ createTimeStart, createTimeEnd }: In<typeof replayWebhooks>) {
    const nextMs = this.clock.wall() + 1;
    if (createTimeEnd !== undefined && createTimeEnd < createTimeStart) {
      throw invalid('/createTimeEnd', 'createTimeEnd must not be before createTimeStart');
    }
    const endMs = createTimeEnd === undefined ? nextMs : Math.min((createTimeEnd + 1) * 1000, nextMs);
    return { from: idAt(createTimeStart * 1000), until: idAt(endMs) };
  }

  /** An attempt id below those of all later attempts: the endpoint's row is locked. */
  private async attemptsSoFar(tx: Tx): Promise<number> {
    const [row] = await tx.run(`select nextval('attempts_id_seq') as id`, []);
    return Number(row?.id);
  }

  private async count(
    reader: Reader,
    { endpointId, events, deliveredToo }: In<typeof replayWebhooks>,
    { from, until }: { from: string; until: string },
  ): Promise<number> {
    const values = [reader.merchantId, endpointId, from, until, statesOf(deliveredToo), events ?? []];
    const [row] = await reader.query(countMatching, values);
    if (Number(row?.looked) > limits.lookedAt) {
      throw invalid('/createTimeStart', `fits more than ${limits.lookedAt} deliveries: narrow the time range`);
    }
    return Number(row?.fitting);
  }
}

/** Smallest event id of a millisecond. */
const idAt = (ms: number) => newId('ev_', ms, new Uint8Array(10));

function replayView({ state, cursor: _, until: __, attemptsAfter: ___, ...replay }: ReplayRow): WebhookReplay {
  return { ...replay, status: replayStatus[state] };
}
