import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, Db, LOG, type Log, systemCaller, type Tx } from '@recur/platform';
import { lockEndpointIfAny } from '../endpoints/rows.js';
import { reschedule, runReschedule } from './reschedule.js';

/** `scheduled`: a round tops up an endpoint's backlog to this number of deliveries. */
const limits = { scheduled: 500, endpoints: 50 } as const;

const some = `select endpoint_id, merchant_id from catch_ups order by random() limit ${limits.endpoints}`;
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
 * the endpoint nor the workers. For an ordered endpoint, new events are missed too until it has caught up.
 */
@Injectable()
export class CatchUp {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Runs one round for some of the endpoints that are behind. */
  async round(): Promise<void> {
    for (const row of await this.db.infra(some)) {
      const [merchantId, endpointId] = [Number(row.merchant_id), Number(row.endpoint_id)];
      try {
        const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
        await this.db.apply(caller, tx => this.take(tx, endpointId));
      } catch (error) {
        this.log.warn({ err: error, merchantId, endpointId }, 'missed deliveries could not be scheduled');
      }
    }
  }

  private async take(tx: Tx, endpointId: number): Promise<void> {
    const endpoint = await lockEndpointIfAny(tx, endpointId);
    if (endpoint?.state !== 'enabled') {
      await tx.run(end, [endpointId]);
      return;
    }
    const { more } = await runReschedule(tx, endpoint, this.clock.wall(), scheduleMissed);
    if (!more) await tx.run(end, [endpointId]);
  }
}
