import { Controller, Inject } from '@nestjs/common';
import { type In, resendWebhook, testEvent } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, Db, Handle } from '@recur/platform';
import { lockEnabledEndpoint } from '../endpoints/rows.js';
import { newDelivery } from './domain/delivery.js';
import { reschedule, runReschedule } from './reschedule.js';
import { exampleOf } from './samples.js';
import { DeliveryWaker } from './sending/delivery-waker.js';
import { attempts, deliveries, due, events } from './tables.js';

/** Reschedules the delivery of an event, if it is kept. A missed one that the endpoint's catch-up will schedule keeps its place. */
const resendOne = reschedule(
  `kept as materialized (select d.delivery_id, d.event_id, d.state from deliveries d
    join events e on e.merchant_id = d.merchant_id and e.event_id = d.event_id
    where d.merchant_id = $1 and d.endpoint_id = $2 and d.event_id = $5),
  chosen as materialized (select delivery_id, event_id from kept
    where state <> 'missed' or not exists (select from catch_ups where endpoint_id = $2))`,
  'exists (select from kept) as kept',
);

/** Operations that send a single delivery: resend, and an example of an event. */
@Controller()
export class Redelivery {
  constructor(
    private readonly db: Db,
    private readonly waker: DeliveryWaker,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(resendWebhook)
  async resend({ logId }: In<typeof resendWebhook>, caller: Caller) {
    let endpointId = 0;
    const answer = await this.db.write(caller, async tx => {
      const attempt = await tx.get(attempts, { id: logId }, 'log_not_found');
      endpointId = attempt.endpointId;
      const endpoint = await lockEnabledEndpoint(tx, endpointId, 'log_not_found');
      const { kept } = await runReschedule(tx, endpoint, this.clock.wall(), resendOne, [attempt.eventId]);
      if (kept !== true) throw new Rejected('event_not_kept');
      tx.log(`WebhookEndpoint(${endpointId})`, `Resend ${attempt.eventId}`);
      return { sendResult: true };
    });
    this.waker.wake(caller.merchantId, [endpointId]);
    return answer;
  }

  @Handle(testEvent)
  async test({ endpointId, event: type }: In<typeof testEvent>, caller: Caller) {
    const answer = await this.db.write(caller, async tx => {
      await lockEnabledEndpoint(tx, endpointId);
      const eventId = tx.newId('ev_');
      const ids = { merchantId: tx.merchantId, deliveryId: tx.newId('dl_'), endpointId, eventId };
      const delivery = newDelivery(ids, true, this.clock.wall());
      const body = exampleOf(type, tx);
      const { merchantId, traceparent } = caller;
      tx.save(events, { merchantId, eventId, type, at: tx.now, subject: '', sequence: 0, body, traceparent });
      tx.save(deliveries, { ...delivery, createTime: tx.now, lastOutcome: '', lastAnswer: '' });
      tx.save(due, {
        deliveryId: ids.deliveryId,
        merchantId: tx.merchantId,
        endpointId,
        eventId,
        dueAtMs: this.clock.wall(),
        leaseToken: null,
        leaseUntilMs: null,
        // an example belongs to no object, so it has no predecessor
        subject: null,
        sequence: 0,
        held: false,
      });
      tx.log(`WebhookEndpoint(${endpointId})`, `TestEvent ${type}`);
      return { eventId };
    });
    this.waker.wake(caller.merchantId, [endpointId]);
    return answer;
  }
}
