import type { Attempt } from './attempts.js';
import { type Cursor, start } from './claims.js';

/**
 * Concurrent requests of one process. A failing endpoint gets one, and all failing endpoints share `toFailing`. While more
 * than half of all slots, or of the merchant's, are taken, an endpoint whose last answer was not quick gets one too. So
 * failing and slow endpoints leave capacity for the others. `leasedPerEndpoint`: claimed and not recorded yet.
 */
const concurrency = {
  inFlight: 512,
  perMerchant: 256,
  perEndpoint: 8,
  leasedPerEndpoint: 16,
  toFailing: 128,
} as const;

/** Work in progress for the endpoints of one merchant. */
export interface MerchantQueue {
  readonly merchantId: number;
  /** Endpoints that may have something due. */
  readonly pending: Set<EndpointQueue>;
  endpoints: number;
  inFlight: number;
  /** Finished attempts to be recorded, and the size of the next batch. */
  ended: { queue: EndpointQueue; attempt: Attempt }[];
  batch: number;
}

/** Work in progress for one endpoint. */
export interface EndpointQueue {
  readonly merchant: MerchantQueue;
  readonly endpointId: number;
  inFlight: number;
  /** Claimed and not recorded: in flight, or finished. */
  leased: number;
  /** Deliveries of the last claim. The next one waits until half as many slots are free, so that it is worth its cost. */
  granted: number;
  /** Failed so often that only one request at a time is made. */
  failing: boolean;
  /** The last request succeeded quickly. */
  quick: boolean;
  /** True while its deliveries are missed, since it is closed. */
  missing: boolean;
  /** Where the next claim begins: what comes before was claimed by this process, and need not be read again. */
  after: Cursor;
  /** Unix milliseconds of the last claim from the start. */
  startedAtMs: number;
  /** Resolves when nothing is in progress and nothing more is known to be due. */
  readonly idle: Promise<void>;
  readonly rest: () => void;
}

/** Registry of queues, and the allocation of request slots to them. */
export class Queues {
  private readonly merchants = new Map<number, MerchantQueue>();
  private readonly endpoints = new Map<number, EndpointQueue>();
  /** Merchants for which no slot was free. */
  private blocked = new Set<MerchantQueue>();
  private inFlight = 0;
  private toFailing = 0;

  constructor(private readonly batch: number) {}

  get all(): EndpointQueue[] {
    return [...this.endpoints.values()];
  }

  /** The queue of an endpoint, which exists while it has work in progress. */
  of(merchantId: number, endpointId: number): EndpointQueue {
    const known = this.endpoints.get(endpointId);
    if (known) return known;
    const merchant = this.merchants.get(merchantId) ?? {
      merchantId,
      pending: new Set<EndpointQueue>(),
      endpoints: 0,
      inFlight: 0,
      ended: [],
      batch: this.batch,
    };
    this.merchants.set(merchantId, merchant);
    merchant.endpoints++;
    let rest = () => {};
    const idle = new Promise<void>(resolve => {
      rest = resolve;
    });
    const queue: EndpointQueue = {
      merchant,
      endpointId,
      inFlight: 0,
      leased: 0,
      granted: 0,
      failing: false,
      missing: false,
      quick: false,
      after: start,
      startedAtMs: 0,
      idle,
      rest,
    };
    this.endpoints.set(endpointId, queue);
    return queue;
  }

  closeIfIdle(queue: EndpointQueue): void {
    const { merchant, endpointId } = queue;
    if (queue.inFlight > 0 || queue.leased > 0 || merchant.pending.has(queue) || !this.endpoints.delete(endpointId)) {
      return;
    }
    if (--merchant.endpoints === 0) this.merchants.delete(merchant.merchantId);
    queue.rest();
  }

  /** Adds to the requests in flight. */
  take(queue: EndpointQueue, by: number): void {
    queue.inFlight += by;
    queue.merchant.inFlight += by;
    this.inFlight += by;
    if (queue.failing) this.toFailing += by;
  }

  /** Marks a queue as failing or not; its requests in flight are counted accordingly. */
  setFailing(queue: EndpointQueue, failing: boolean): void {
    if (failing !== queue.failing) this.toFailing += failing ? queue.inFlight : -queue.inFlight;
    queue.failing = failing;
  }

  /** True when enough of a pending endpoint's slots are free for another claim. */
  isWorthClaiming(queue: EndpointQueue): boolean {
    return queue.merchant.pending.has(queue) && slotsFor(queue, false) * 2 >= Math.max(1, queue.granted);
  }

  /** Request slots that are free for a merchant. */
  free(merchant: MerchantQueue): number {
    return Math.min(concurrency.inFlight - this.inFlight, concurrency.perMerchant - merchant.inFlight);
  }

  /** Allocates the free request slots to a merchant's pending endpoints in equal shares, least recently served first. */
  allocate(merchant: MerchantQueue): Map<EndpointQueue, number> {
    const slots = new Map<EndpointQueue, number>();
    let free = this.free(merchant);
    let probes = concurrency.toFailing - this.toFailing;
    let untilBusy = Math.min(concurrency.inFlight / 2 - this.inFlight, concurrency.perMerchant / 2 - merchant.inFlight);
    const share = Math.max(1, Math.floor(free / merchant.pending.size));
    for (const queue of merchant.pending) {
      const wanted = Math.min(slotsFor(queue, untilBusy <= 0), share);
      if (wanted <= 0) continue;
      const count = Math.min(wanted, free, queue.failing ? probes : free);
      if (count <= 0) {
        this.blocked.add(merchant);
        continue;
      }
      slots.set(queue, count);
      free -= count;
      untilBusy -= count;
      if (queue.failing) probes -= count;
    }
    return slots;
  }

  /** Returns and clears the merchants for which no slot was free. */
  takeBlocked(): ReadonlySet<MerchantQueue> {
    const blocked = this.blocked;
    if (blocked.size > 0) this.blocked = new Set();
    return blocked;
  }
}

function slotsFor(queue: EndpointQueue, busy: boolean): number {
  if (queue.failing) return 1 - queue.leased;
  const atOnce = busy && !queue.quick ? 1 : concurrency.perEndpoint;
  return Math.min(atOnce - queue.inFlight, concurrency.leasedPerEndpoint - queue.leased);
}
