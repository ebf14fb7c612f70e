import { Inject, Injectable } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  Db,
  LOG,
  type Log,
  PeriodicTask,
  systemCaller,
  type Tx,
  type Worker,
} from '@recur/platform';
import { lockEndpointIfAny } from '../../endpoints/rows.js';
import type { EndpointRow } from '../../endpoints/tables.js';
import { reschedule, runReschedule } from '../reschedule.js';
import { DeliveryWaker } from '../sending/delivery-waker.js';
import { advanced, ended, type Round, statesOf } from './domain/replay.js';
import { type ReplayRow, replays } from './tables.js';

/**
 * A round examines and schedules a bounded number of deliveries. The next one waits until the endpoint's backlog is below
 * `backlog`, so that a replay of any size delays new events only briefly.
 */
const limits = { everyMs: 1_000, atOnce: 100, scheduled: 200, lookedAt: 5_000, backlog: 400 } as const;

const running = `select replay_id, merchant_id, endpoint_id from running_replays order by random() limit ${limits.atOnce}`;
/** A catch-up goes first: what the endpoint missed is older. */
const backlogOf = `select exists (select from catch_ups where endpoint_id = $1) as behind, count(*) as due
  from (select 1 from due where endpoint_id = $1 and not held limit ${limits.backlog}) waiting`;

const scheduleRound = reschedule(
  `looked as materialized (select delivery_id, event_id, state from deliveries
    where merchant_id = $1 and endpoint_id = $2 and event_id > $5 and event_id < $6
    order by event_id limit ${limits.lookedAt}),
  came as materialized (select delivery_id from attempts
    where merchant_id = $1 and endpoint_id = $2 and id > $9 and event_id > $5),
  chosen as materialized (select delivery_id, event_id from looked
    where state = any($7) and not exists (select from came where came.delivery_id = looked.delivery_id)
      and exists (select from events e where e.merchant_id = $1 and e.event_id = looked.event_id
        and (cardinality($8::text[]) = 0 or e.type = any($8)))
    order by event_id limit ${limits.scheduled})`,
  `(select count(*) from looked) as looked, (select max(event_id) from looked) as last_looked,
    (select count(*) from chosen) as chosen, (select max(event_id) from chosen) as last_chosen`,
);

interface Running {
  merchantId: number;
  endpointId: number;
  replayId: string;
}

/** Worker that runs replays, round by round. */
@Injectable()
export class Replayer implements Worker {
  private readonly rounds = new PeriodicTask(
    limits.everyMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'replays could not be continued'),
  );

  constructor(
    private readonly db: Db,
    private readonly waker: DeliveryWaker,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** Starts a sweep at once, for a replay that was just created. */
  wake(): void {
    this.rounds.wake();
  }

  /** Runs rounds of all replays until each of them waits or is over, or the worker stops. */
  async sweep(): Promise<void> {
    for (let busy = true; busy && !this.rounds.stopped; ) {
      busy = false;
      for (const row of await this.db.infra(running)) {
        if (this.rounds.stopped) return;
        const { merchant_id, endpoint_id, replay_id } = row;
        const one = { merchantId: Number(merchant_id), endpointId: Number(endpoint_id), replayId: String(replay_id) };
        busy = (await this.roundOf(one)) || busy;
      }
    }
  }

  /** Logs a failure, so that other replays go on; the next sweep tries again. */
  private async roundOf(one: Running): Promise<boolean> {
    try {
      return await this.round(one);
    } catch (error) {
      this.log.error({ err: error, ...one }, 'a replay could not be continued');
      return false;
    }
  }

  /** Returns true when another round can follow at once. */
  private async round({ merchantId, endpointId, replayId }: Running): Promise<boolean> {
    let more = false;
    const caller = systemCaller(merchantId, replayId, Number.POSITIVE_INFINITY);
    await this.db.apply(caller, async tx => {
      const endpoint = await lockEndpointIfAny(tx, endpointId);
      const replay = await tx.lockIfAny(replays, { replayId });
      if (replay?.state !== 'running') return;
      if (endpoint?.state !== 'enabled') return this.save(tx, ended(replay, 'stop', tx.now));
      const [backlog] = await tx.run(backlogOf, [endpointId]);
      if (backlog?.behind === true || Number(backlog?.due) >= limits.backlog) return;
      const after = advanced(replay, await this.schedule(tx, endpoint, replay), tx.now);
      await this.save(tx, after);
      more = after.state === 'running';
    });
    this.waker.wake(merchantId, [endpointId]);
    return more;
  }

  private async schedule(tx: Tx, endpoint: EndpointRow, replay: ReplayRow): Promise<Round> {
    const { cursor, until, deliveredToo, events, attemptsAfter } = replay;
    const values = [cursor, until, statesOf(deliveredToo), events, attemptsAfter];
    const row = await runReschedule(tx, endpoint, this.clock.wall(), scheduleRound, values);
    const scheduled = Number(row.chosen);
    const full = scheduled === limits.scheduled;
    const more = full || Number(row.looked) === limits.lookedAt;
    return { scheduled, more, lookedUpTo: String((full ? row.last_chosen : row.last_looked) ?? cursor) };
  }

  private async save(tx: Tx, replay: ReplayRow): Promise<void> {
    tx.save(replays, replay);
    if (replay.state === 'running') return;
    await tx.run('delete from running_replays where replay_id = $1', [replay.replayId]);
  }
}
