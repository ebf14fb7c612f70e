import { events as registry } from '@recur/contracts';
import type { Consumption, Event, Tx } from '@recur/platform';
import { matches } from '../endpoints/domain/endpoint.js';
import { livingEndpoints } from '../endpoints/rows.js';
import type { EndpointRow } from '../endpoints/tables.js';
import { newDelivery } from './domain/delivery.js';
import { openLines } from './order.js';
import { deliveries, due, events } from './tables.js';

/** Wakes the delivery workers for endpoints that have something due. */
export type Wake = (merchantId: number, endpointIds: ReadonlySet<number>) => void;

/**
 * Consumptions of all webhook events, one per owner and first word of the type (`evt.billing.invoice.>`). An event becomes
 * one row and one delivery per endpoint that subscribed to it, in the transaction of its inbox row.
 */
export function fanOut(nowMs: () => number, wake: Wake): Consumption[] {
  const sources = new Map<string, { owner: string; word: string }>();
  for (const [type, { owner, webhook }] of Object.entries(registry)) {
    const word = type.slice(0, type.indexOf('.'));
    if (webhook) sources.set(`${owner}-${word}`, { owner, word });
  }
  return [...sources].map(([name, { owner, word }]) => {
    const toWake = new Map<number, Set<number>>();
    return {
      name: `notification-${name}`,
      from: owner,
      subject: `${word}.>`,
      order: 'every',
      apply: async (tx, batch) => {
        toWake.set(tx.merchantId, await schedule(tx, batch, nowMs()));
      },
      done: merchantId => {
        wake(merchantId, toWake.get(merchantId) ?? new Set());
        toWake.delete(merchantId);
      },
    };
  });
}

/** Schedules the deliveries of one merchant's events; returns the endpoints with something due. */
async function schedule(tx: Tx, batch: readonly Event[], nowMs: number): Promise<Set<number>> {
  const waking = new Set<number>();
  const all = await livingEndpoints(tx);
  const wanted = batch
    .filter(({ type }) => isWebhook(type))
    .flatMap(event => {
      const routed = { type: event.type, productIds: () => productsOf(event.data) };
      const wanting = all.filter(endpoint => matches(endpoint, routed));
      return wanting.length === 0 ? [] : [{ event, wanting }];
    });
  const locking = new Set(wanted.flatMap(({ wanting }) => wanting.filter(mustLock)).map(idOf));
  const lines = await openLines(tx, [...locking], [...new Set(wanted.map(({ event }) => subjectOf(event)))]);
  for (const { event, wanting } of wanted) {
    const [subject, sequence] = [subjectOf(event), event.version];
    const { id: eventId, type, at, traceparent } = event;
    const body = bodyOf(event);
    tx.save(events, { merchantId: tx.merchantId, eventId, type, at, subject, sequence, body, traceparent });
    for (const seen of wanting) {
      const { endpointId } = seen;
      const endpoint = mustLock(seen) ? lines.endpoint(endpointId) : seen;
      if (endpoint === undefined) continue;
      const deliveryId = tx.newId('dl_');
      const ids = { merchantId: tx.merchantId, deliveryId, endpointId, eventId };
      const open = endpoint.state === 'enabled' && !(seen.ordered && lines.isCatchingUp(endpointId));
      const delivery = newDelivery(ids, open, nowMs);
      tx.save(deliveries, { ...delivery, createTime: tx.now, lastOutcome: '', lastAnswer: '' });
      if (delivery.nextAtMs === null) continue;
      const held = seen.ordered && lines.join(endpointId, subject);
      if (!held) waking.add(endpointId);
      tx.save(due, {
        deliveryId,
        merchantId: tx.merchantId,
        endpointId,
        eventId,
        dueAtMs: delivery.nextAtMs,
        leaseToken: null,
        leaseUntilMs: null,
        subject: seen.ordered ? subject : null,
        sequence,
        held,
      });
    }
  }
  return waking;
}

/** Endpoints that are read again under their lock: ordered ones, and disabled ones, which may be enabled concurrently. */
const mustLock = ({ ordered, state }: EndpointRow) => ordered || state === 'disabled';
const idOf = ({ endpointId }: EndpointRow) => endpointId;
/** Aggregates whose events are numbered with those of another, so that they go out in its line. */
const numberedWith: Readonly<Record<string, string>> = { paymentReport: 'payment' };
/** The object that an event concerns. */
const subjectOf = ({ aggregate, aggregateId }: Event) => `${numberedWith[aggregate] ?? aggregate} ${aggregateId}`;

const isWebhook = (type: string) => (registry as Record<string, { webhook: boolean }>)[type]?.webhook === true;

/** Body of a webhook. `sequence` is the version of the object, so that receivers can drop stale events. */
export function bodyOf({ type, at, merchantId, version, data }: Event): string {
  return JSON.stringify({ type, timestamp: new Date(at * 1000).toISOString(), merchantId, sequence: version, data });
}

/** Products that an event concerns: a subscription's own, or those of the plans on an invoice's lines. */
function productsOf(data: unknown): number[] {
  const { productId, lines = [] } = data as { productId?: number; lines?: { plan?: { productId: number } | null }[] };
  if (productId !== undefined) return [productId];
  return [...new Set(lines.flatMap(({ plan }) => (plan ? [plan.productId] : [])))];
}
