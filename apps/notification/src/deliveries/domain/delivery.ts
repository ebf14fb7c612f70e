import { machine, type StateOf } from '@recur/kernel';

/**
 * Lifecycle of a delivery, which sends one event to one endpoint. Deliveries to a disabled endpoint are recorded as
 * `missed` and not attempted. Every delivery can be replayed, even a delivered one, which its receiver may have lost.
 */
export const deliveryLifecycle = machine({
  scheduled: { succeed: 'delivered', retry: 'scheduled', exhaust: 'failed', miss: 'missed', replay: 'scheduled' },
  delivered: { replay: 'scheduled' },
  failed: { replay: 'scheduled' },
  missed: { replay: 'scheduled' },
});
export type DeliveryState = StateOf<typeof deliveryLifecycle>;
type Move = (typeof deliveryLifecycle.moves)[number];

export interface Delivery {
  merchantId: number;
  deliveryId: string;
  endpointId: number;
  /** Sent as webhook-id: the same at each attempt and each replay. */
  eventId: string;
  state: DeliveryState;
  /** Finished attempts since it was scheduled; a replay resets them to 0. */
  attempts: number;
  /** When the next attempt is due, in unix milliseconds; null unless it is scheduled. */
  nextAtMs: number | null;
}

/** Result of an attempt: an HTTP answer, or none. */
export type Outcome = { kind: 'answered'; status: number; retryAfterSeconds?: number } | { kind: 'failed' };

/** Delay before each attempt, from the end of the previous one: ten attempts over 75 hours. */
export const slotSeconds = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/** Jitter as a fraction of the slot, in both directions; it spreads retries of simultaneous failures. */
const jitterPart = 0.2;
/** Largest factor by which Retry-After extends a slot. */
const retryAfterSlots = 2;

/** A new delivery: due at once, or missed when its endpoint is disabled. */
export function newDelivery(
  ids: Pick<Delivery, 'merchantId' | 'deliveryId' | 'endpointId' | 'eventId'>,
  endpointEnabled: boolean,
  nowMs: number,
): Delivery {
  return endpointEnabled
    ? { ...ids, state: 'scheduled', attempts: 0, nextAtMs: nowMs }
    : { ...ids, state: 'missed', attempts: 0, nextAtMs: null };
}

/** Every 2xx is a success, 410 means that the endpoint wants no more, and everything else is a failure (3xx included). */
export function verdictOf(outcome: Outcome): 'success' | 'failure' | 'gone' {
  if (outcome.kind === 'failed') return 'failure';
  if (outcome.status >= 200 && outcome.status < 300) return 'success';
  return outcome.status === 410 ? 'gone' : 'failure';
}

/**
 * The delivery after an attempt that ended at `nowMs`. A 410 disables the endpoint and leaves the delivery missed until the
 * endpoint is enabled again. `jitter` is a random number in [0, 1).
 */
export function afterAttempt(delivery: Delivery, outcome: Outcome, nowMs: number, jitter: number): Delivery {
  const attempts = delivery.attempts + 1;
  const verdict = verdictOf(outcome);
  if (verdict === 'success') return moved(delivery, 'succeed', attempts, null);
  if (verdict === 'gone') return moved(delivery, 'miss', attempts, null);
  const retryAfterSeconds = outcome.kind === 'answered' ? outcome.retryAfterSeconds : undefined;
  const waitMs = waitBefore(attempts, jitter, retryAfterSeconds);
  return waitMs === undefined
    ? moved(delivery, 'exhaust', attempts, null)
    : moved(delivery, 'retry', attempts, nowMs + waitMs);
}

/** The delivery after its endpoint was disabled. */
export function miss(delivery: Delivery): Delivery {
  return moved(delivery, 'miss', delivery.attempts, null);
}

/** The delivery after a replay: due at once, with all ten attempts. */
export function replay(delivery: Delivery, nowMs: number): Delivery {
  return moved(delivery, 'replay', 0, nowMs);
}

/**
 * Milliseconds to wait after `attempts` failed ones; undefined after the last. Retry-After can only extend the wait.
 */
function waitBefore(attempts: number, jitter: number, retryAfterSeconds = 0): number | undefined {
  const seconds = slotSeconds[attempts];
  if (seconds === undefined) return undefined;
  const slotMs = seconds * 1000;
  const jitteredMs = Math.round(slotMs * (1 - jitterPart + 2 * jitterPart * jitter));
  return Math.max(jitteredMs, Math.min(Math.round(retryAfterSeconds * 1000), retryAfterSlots * slotMs));
}

/** Throws on an illegal move, which is a bug: the caller holds the lease. */
function moved(delivery: Delivery, move: Move, attempts: number, nextAtMs: number | null): Delivery {
  const state = deliveryLifecycle.next(delivery.state, move);
  if (state === undefined) throw new Error(`delivery ${delivery.deliveryId} is ${delivery.state}: it cannot ${move}`);
  return { ...delivery, state, attempts, nextAtMs };
}
