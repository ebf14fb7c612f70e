import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, eachItem, type Tx, type Work, work } from '@recur/platform';
import { lockEndpointIfAny } from '../../endpoints/rows.js';
import type { EndpointRow } from '../../endpoints/tables.js';
import { reschedule, runReschedule } from '../reschedule.js';
import { DeliveryWaker } from '../sending/delivery-waker.js';
import { advanced, ended, type Round, statesOf } from './domain/replay.js';
import { type ReplayRow, replays } from './tables.js';

const kind = 'webhook.replay';

/**
 * A round examines and schedules a bounded number of deliveries. The next one waits until the endpoint's backlog is below
 * `backlog`, so that a replay of any size delays new events only briefly.
 */
const limits = { pauseSeconds: 1, scheduled: 200, lookedAt: 5_000, backlog: 400 } as const;

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

/** Runs replays, a round at a time: each is an item of work, which reschedules itself until the replay is over. */
@Injectable()
export class Replayer {
  readonly work: Work = work(
    kind,
    { time: 'machine', batch: 1, logged: false },
    eachItem((tx, { key }) => this.round(tx, key)),
  );

  constructor(
    private readonly waker: DeliveryWaker,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Schedules the first round of a replay, for now. */
  begin(tx: Tx, replayId: string): void {
    this.next(tx, replayId, 0);
  }

  /** Takes a replay that is cancelled off the schedule. */
  cancel(tx: Tx, replayId: string): void {
    tx.unschedule(kind, replayId);
  }

  private async round(tx: Tx, replayId: string): Promise<void> {
    const found = await tx.find(replays, { replayId });
    if (!found) return;
    const { endpointId } = found;
    const endpoint = await lockEndpointIfAny(tx, endpointId);
    const replay = await tx.lockIfAny(replays, { replayId });
    if (replay?.state !== 'running') return;
    tx.onCommit(() => this.waker.wake(tx.merchantId, [endpointId]));
    if (endpoint?.state !== 'enabled') {
      tx.save(replays, ended(replay, 'stop', tx.now));
      return;
    }
    const [backlog] = await tx.run(backlogOf, [endpointId]);
    if (backlog?.behind === true || Number(backlog?.due) >= limits.backlog) {
      this.next(tx, replayId, limits.pauseSeconds);
      return;
    }
    const after = advanced(replay, await this.schedule(tx, endpoint, replay), tx.now);
    tx.save(replays, after);
    if (after.state === 'running') this.next(tx, replayId, 0);
  }

  private next(tx: Tx, replayId: string, pauseSeconds: number): void {
    tx.schedule(kind, replayId, Math.floor(this.clock.wall() / 1000) + pauseSeconds);
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
}
