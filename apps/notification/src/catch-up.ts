import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, Db, LOG, type Log, systemCaller, type Tx } from '@recur/platform';
import { living } from './endpoints.js';
import { release } from './order.js';
import { endpoints } from './tables.js';

/** A round fills up what is scheduled for an endpoint to this number. */
const limits = { scheduled: 500, endpoints: 50 } as const;

const some = `select endpoint_id, merchant_id from catch_ups order by random() limit ${limits.endpoints}`;
const end = 'delete from catch_ups where endpoint_id = $1';

/** The oldest of what an endpoint missed, as if it were new. What has to keep an order is held until it is released. */
const takeUp = `with scheduled as (
    select count(*) from (select 1 from due where endpoint_id = $2 and not held limit ${limits.scheduled}) d),
  oldest as (
    select delivery_id, event_id from deliveries where merchant_id = $1 and endpoint_id = $2 and state = 'missed'
    order by delivery_id limit ${limits.scheduled} - (select count from scheduled)),
  again as (
    update deliveries d set state = 'scheduled', attempts = 0, next_at_ms = $3
    where d.merchant_id = $1 and d.delivery_id = any(array(select delivery_id from oldest))),
  queued as (
    insert into due (delivery_id, merchant_id, endpoint_id, due_at_ms, subject, sequence, held)
    select delivery_id, $1, $2, $3, case when $4 then nullif(subject, '') end, sequence, $4 and subject <> ''
    from oldest cross join lateral (select * from events
      where merchant_id = $1 and event_id = oldest.event_id offset 0) e returning subject)
  select (select count(*) from queued) >= ${limits.scheduled} - (select count from scheduled) as more,
    array(select distinct subject from queued where subject is not null) as subjects`;

/**
 * Endpoints that are enabled again get what they missed, oldest first, in rounds: so that a long absence floods neither
 * the endpoint nor the workers. Where the order matters, what happens meanwhile joins what was missed.
 */
@Injectable()
export class CatchUp {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** A round for some of the endpoints that are behind. */
  async round(): Promise<void> {
    for (const row of await this.db.infra(some)) {
      const [merchantId, endpointId] = [Number(row.merchant_id), Number(row.endpoint_id)];
      try {
        const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
        await this.db.apply(caller, tx => this.take(tx, endpointId));
      } catch (error) {
        this.log.warn({ err: error, merchantId, endpointId }, 'what an endpoint missed could not be scheduled');
      }
    }
  }

  private async take(tx: Tx, endpointId: number): Promise<void> {
    const endpoint = await tx.lockIfAny(endpoints, living(endpointId));
    if (endpoint?.state !== 'enabled') {
      await tx.run(end, [endpointId]);
      return;
    }
    const nowMs = this.clock.wall();
    const [taken] = await tx.run(takeUp, [tx.merchantId, endpointId, nowMs, endpoint.ordered]);
    const subjects = (taken?.subjects ?? []) as string[];
    await release(
      tx,
      subjects.map(subject => ({ endpointId, subject })),
      nowMs,
    );
    if (!taken?.more) await tx.run(end, [endpointId]);
  }
}
