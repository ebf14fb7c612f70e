import { Inject, Injectable } from '@nestjs/common';
import { type EventName, emptyOf, type In, events as registry, resendWebhook, testEvent } from '@recur/contracts';
import { type ErrorSlug, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, Db, Handle, type Tx } from '@recur/platform';
import { anew, scheduleAnew } from './again.js';
import { newDelivery } from './domain/delivery.js';
import { Doorbell } from './doorbell.js';
import { living } from './endpoints.js';
import { attempts, deliveries, due, type EndpointRow, endpoints, events } from './tables.js';

/** One that is kept. What the endpoint missed and is still to get anyhow has its place among that already. */
const resendOne = anew(
  `kept as materialized (select d.delivery_id, d.event_id, d.state from deliveries d
    join events e on e.merchant_id = d.merchant_id and e.event_id = d.event_id
    where d.merchant_id = $1 and d.endpoint_id = $2 and d.event_id = $5),
  chosen as materialized (select delivery_id, event_id from kept
    where state <> 'missed' or not exists (select from catch_ups where endpoint_id = $2))`,
  'exists (select from kept) as kept',
);

/** Single deliveries that a merchant asks for: one again, or an example. */
@Injectable()
export class Redelivery {
  constructor(
    private readonly db: Db,
    private readonly doorbell: Doorbell,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(resendWebhook)
  async resend({ logId }: In<typeof resendWebhook>, caller: Caller) {
    let endpointId = 0;
    const answer = await this.db.write(caller, async tx => {
      const attempt = await tx.get(attempts, { id: logId }, 'log_not_found');
      endpointId = attempt.endpointId;
      const endpoint = await enabledOne(tx, endpointId, 'log_not_found');
      const { kept } = await scheduleAnew(tx, endpoint, this.clock.wall(), resendOne, [attempt.eventId]);
      if (kept !== true) throw new Rejected('event_not_kept');
      tx.log(`WebhookEndpoint(${endpointId})`, `Resend ${attempt.eventId}`);
      return { sendResult: true };
    });
    this.doorbell.ring(caller.merchantId, endpointId);
    return answer;
  }

  @Handle(testEvent)
  async test({ endpointId, event: type }: In<typeof testEvent>, caller: Caller) {
    const answer = await this.db.write(caller, async tx => {
      await enabledOne(tx, endpointId, 'endpoint_not_found');
      const eventId = tx.newId('ev_');
      const ids = { merchantId: tx.merchantId, deliveryId: tx.newId('dl_'), endpointId, eventId };
      const delivery = newDelivery(ids, true, this.clock.wall());
      const body = exampleOf(type, tx);
      tx.save(events, { merchantId: tx.merchantId, eventId, type, at: tx.now, subject: '', sequence: 0, body });
      tx.save(deliveries, { ...delivery, createTime: tx.now, lastOutcome: '', lastAnswer: '' });
      tx.save(due, {
        deliveryId: ids.deliveryId,
        merchantId: tx.merchantId,
        endpointId,
        dueAtMs: this.clock.wall(),
        leaseToken: null,
        leaseUntilMs: null,
        // it is of no object, so it waits for nothing
        subject: null,
        sequence: 0,
        held: false,
      });
      tx.log(`WebhookEndpoint(${endpointId})`, `TestEvent ${type}`);
      return { eventId };
    });
    this.doorbell.ring(caller.merchantId, endpointId);
    return answer;
  }
}

/** The endpoint, locked: who changes its deliveries holds it first. Rejected where it cannot be sent anything. */
export async function enabledOne(tx: Tx, endpointId: number, slug: ErrorSlug): Promise<EndpointRow> {
  const endpoint = await tx.lock(endpoints, living(endpointId), slug);
  if (endpoint.state !== 'enabled') throw new Rejected('endpoint_disabled');
  return endpoint;
}

/** The body of an example: the object is empty, and of no version. */
export function exampleOf(type: string, { merchantId, now }: Pick<Tx, 'merchantId' | 'now'>): string {
  const data = { ...emptyOf(registry[type as EventName].data), merchantId };
  const timestamp = new Date(now * 1000).toISOString();
  return JSON.stringify({ type, timestamp, merchantId, sequence: 0, test: true, data });
}
