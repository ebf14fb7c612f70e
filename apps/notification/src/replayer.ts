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
import { anew, scheduleAnew } from './again.js';
import { advanced, ended, type Round, statesOf } from './domain/replay.js';
import { Doorbell } from './doorbell.js';
import { living } from './endpoints.js';
import { type EndpointRow, endpoints, type ReplayRow, replays } from './tables.js';

/**
 * A round schedules few deliveries and looks at some more; the next one waits until the endpoint has taken most of
 * them, so that a replay of any size holds up nothing new for long.
 */
const limits = { everyMs: 1_000, atOnce: 100, scheduled: 200, lookedAt: 5_000, backlog: 400 } as const;

const running = `select replay_id, merchant_id, endpoint_id from running_replays order by random() limit ${limits.atOnce}`;
/** What an endpoint missed comes first: it is older. */
const backlogOf = `select exists (select from catch_ups where endpoint_id = $1) as behind, count(*) as due
  from (select 1 from due where endpoint_id = $1 and not held limit ${limits.backlog}) waiting`;

const scheduleRound = anew(
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

/** Does the work of replays, round by round, as long as there are any. */
@Injectable()
export class Replayer implements Worker {
  private readonly rounds = new PeriodicTask(
    limits.everyMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'replays could not be continued'),
  );

  constructor(
    private readonly db: Db,
    private readonly doorbell: Doorbell,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** There is a replay to be done. What is not heard now is found by the next sweep. */
  wake(): void {
    this.rounds.wake();
  }

  /** One round of each replay that runs, again until all of them wait or are over, or the worker stops. */
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

  /** One that fails holds up no other: it is tried again with the next sweep. */
  private async roundOf(one: Running): Promise<boolean> {
    try {
      return await this.round(one);
    } catch (error) {
      this.log.error({ err: error, ...one }, 'a replay could not be continued');
      return false;
    }
  }

  /** Whether another round can follow at once. */
  private async round({ merchantId, endpointId, replayId }: Running): Promise<boolean> {
    let more = false;
    const caller = systemCaller(merchantId, replayId, Number.POSITIVE_INFINITY);
    await this.db.apply(caller, async tx => {
      // whoever changes deliveries of an endpoint holds its row first
      const endpoint = await tx.lockIfAny(endpoints, living(endpointId));
      const replay = await tx.lockIfAny(replays, { replayId });
      if (replay?.state !== 'running') return;
      if (endpoint?.state !== 'enabled') return this.save(tx, ended(replay, 'stop', tx.now));
      const [backlog] = await tx.run(backlogOf, [endpointId]);
      if (backlog?.behind === true || Number(backlog?.due) >= limits.backlog) return;
      const after = advanced(replay, await this.schedule(tx, endpoint, replay), tx.now);
      await this.save(tx, after);
      more = after.state === 'running';
    });
    this.doorbell.ring(merchantId, endpointId);
    return more;
  }

  private async schedule(tx: Tx, endpoint: EndpointRow, replay: ReplayRow): Promise<Round> {
    const { cursor, until, deliveredToo, events, attemptsAfter } = replay;
    const values = [cursor, until, statesOf(deliveredToo), events, attemptsAfter];
    const row = await scheduleAnew(tx, endpoint, this.clock.wall(), scheduleRound, values);
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
