import { events as registry } from '@recur/contracts';
import type { Clock, Consumption, Event, Tx } from '@recur/platform';
import { newDelivery } from './domain/delivery.js';
import { matches } from './domain/endpoint.js';
import { openLines } from './order.js';
import { deliveries, due, type EndpointRow, endpoints, events } from './tables.js';

/** Tells the delivery workers that an endpoint has something due. */
export type Ring = (merchantId: number, endpointId: number) => void;

/**
 * What notification listens to: the events that may go out, by owner and first word (`evt.billing.invoice.>`). Each
 * becomes one row, and one delivery for each endpoint that wants it, in the transaction of its inbox row.
 */
export function intake(clock: Clock, ring: Ring): Consumption[] {
  const sources = new Map<string, { owner: string; word: string }>();
  for (const [type, { owner, webhook }] of Object.entries(registry)) {
    const word = type.slice(0, type.indexOf('.'));
    if (webhook) sources.set(`${owner}-${word}`, { owner, word });
  }
  return [...sources].map(([name, { owner, word }]) => {
    const toRing = new Map<number, Set<number>>();
    return {
      name: `notification-${name}`,
      from: owner,
      subject: `${word}.>`,
      order: 'every',
      apply: async (tx, batch) => {
        toRing.set(tx.merchantId, await schedule(tx, batch, clock.wall()));
      },
      done: merchantId => {
        for (const endpointId of toRing.get(merchantId) ?? []) ring(merchantId, endpointId);
        toRing.delete(merchantId);
      },
    };
  });
}

/** Schedules the deliveries of one merchant's events; returns the endpoints that have something due. */
async function schedule(tx: Tx, batch: readonly Event[], nowMs: number): Promise<Set<number>> {
  const ringing = new Set<number>();
  const all = await tx.all(endpoints, { deletedTime: 0 });
  const wanted = batch
    .filter(({ type }) => isWebhook(type))
    .flatMap(event => {
      const routed = { type: event.type, productIds: () => productsOf(event.data) };
      const wanting = all.filter(endpoint => matches(endpoint, routed));
      return wanting.length === 0 ? [] : [{ event, wanting }];
    });
  const locking = new Set(wanted.flatMap(({ wanting }) => wanting.filter(mustStand)).map(idOf));
  const lines = await openLines(tx, [...locking], [...new Set(wanted.map(({ event }) => subjectOf(event)))]);
  for (const { event, wanting } of wanted) {
    const [subject, sequence] = [subjectOf(event), event.version];
    const { id: eventId, type, at } = event;
    tx.save(events, { merchantId: tx.merchantId, eventId, type, at, subject, sequence, body: bodyOf(event) });
    for (const seen of wanting) {
      const { endpointId } = seen;
      const endpoint = mustStand(seen) ? lines.endpoint(endpointId) : seen;
      if (endpoint === undefined) continue;
      const deliveryId = tx.newId('dl_');
      const ids = { merchantId: tx.merchantId, deliveryId, endpointId, eventId };
      const open = endpoint.state === 'enabled' && !(seen.ordered && lines.isCatchingUp(endpointId));
      const delivery = newDelivery(ids, open, nowMs);
      tx.save(deliveries, { ...delivery, createTime: tx.now, lastOutcome: '', lastAnswer: '' });
      if (delivery.nextAtMs === null) continue;
      const held = seen.ordered && lines.join(endpointId, subject);
      if (!held) ringing.add(endpointId);
      tx.save(due, {
        deliveryId,
        merchantId: tx.merchantId,
        endpointId,
        dueAtMs: delivery.nextAtMs,
        leaseToken: null,
        leaseUntilMs: null,
        subject: seen.ordered ? subject : null,
        sequence,
        held,
      });
    }
  }
  return ringing;
}

/** It is looked at under its lock: so that nothing passes others, or is missed when it has been enabled already. */
const mustStand = ({ ordered, state }: EndpointRow) => ordered || state === 'disabled';
const idOf = ({ endpointId }: EndpointRow) => endpointId;
/** The object that an event is of. */
const subjectOf = ({ aggregate, aggregateId }: Event) => `${aggregate} ${aggregateId}`;

const isWebhook = (type: string) => (registry as Record<string, { webhook: boolean }>)[type]?.webhook === true;

/** The body of a webhook: `sequence` is the version of the object, so that a receiver can drop what is stale. */
export function bodyOf({ type, at, merchantId, version, data }: Event): string {
  return JSON.stringify({ type, timestamp: new Date(at * 1000).toISOString(), merchantId, sequence: version, data });
}

/** The products that an event concerns: a subscription's own, and those of the plans on an invoice's lines. */
function productsOf(data: unknown): number[] {
  const { productId, lines = [] } = data as { productId?: number; lines?: { plan?: { productId: number } | null }[] };
  if (productId !== undefined) return [productId];
  return [...new Set(lines.flatMap(({ plan }) => (plan ? [plan.productId] : [])))];
}
