import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, eachItem, type Tx, type Work, work } from '@recur/platform';
import { lockEndpointIfAny } from '../endpoints/rows.js';
import { catchUpKind } from './catch-ups.js';
import { reschedule, runReschedule } from './reschedule.js';
import { DeliveryWaker } from './sending/delivery-waker.js';

/** `scheduled`: a round tops up an endpoint's backlog to this number of deliveries. */
const limits = { scheduled: 500, pauseSeconds: 1 } as const;

const end = 'delete from catch_ups where endpoint_id = $1';

/** Schedules the oldest deliveries that an endpoint missed. */
const scheduleMissed = reschedule(
  `scheduled as (
    select count(*) from (select 1 from due where endpoint_id = $2 and not held limit ${limits.scheduled}) d),
  chosen as materialized (
    select delivery_id, event_id from deliveries where merchant_id = $1 and endpoint_id = $2 and state = 'missed'
    order by delivery_id limit ${limits.scheduled} - (select count from scheduled))`,
  `(select count(*) from chosen) >= ${limits.scheduled} - (select count from scheduled) as more`,
);

/**
 * Schedules what endpoints missed while they were disabled, oldest first, in rounds, so that a long absence floods neither
 * the endpoint nor the workers. Each catch-up is an item of work, which reschedules itself until nothing is left. For an
 * ordered endpoint, new events are missed too until it has caught up.
 */
@Injectable()
export class CatchUp {
  readonly work: Work = work(
    catchUpKind,
    { time: 'machine', batch: 1, logged: false },
    eachItem((tx, { key }) => this.round(tx, Number(key))),
  );

  constructor(
    private readonly waker: DeliveryWaker,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  private async round(tx: Tx, endpointId: number): Promise<void> {
    const endpoint = await lockEndpointIfAny(tx, endpointId);
    if (endpoint?.state !== 'enabled') {
      await tx.run(end, [endpointId]);
      return;
    }
    const nowMs = this.clock.wall();
    const { more } = await runReschedule(tx, endpoint, nowMs, scheduleMissed);
    tx.onCommit(() => this.waker.wake(tx.merchantId, [endpointId]));
    if (more) tx.schedule(catchUpKind, String(endpointId), Math.floor(nowMs / 1000) + limits.pauseSeconds);
    else await tx.run(end, [endpointId]);
  }
}
