import { machine, type StateOf } from '@recur/kernel';

/**
 * One event on its way to one endpoint. `missed` is what happens to the deliveries of a disabled endpoint: they are
 * recorded but not tried. Every one can be replayed, also what was delivered: its receiver may have lost it.
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
  /** Attempts that ended since it was scheduled; a replay starts again at 0. */
  attempts: number;
  /** When the next attempt is due, in unix milliseconds; null unless it is scheduled. */
  nextAtMs: number | null;
}

/** How an attempt ended: with an HTTP answer, or without one. */
export type Outcome = { kind: 'answered'; status: number; retryAfterSeconds?: number } | { kind: 'failed' };

/** The wait before each attempt, counted from the end of the one before: ten attempts over 75 hours. */
export const slotSeconds = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/** Half the width of the jitter, as a part of the slot: it keeps what failed together from returning together. */
const jitterPart = 0.2;
/** How far Retry-After may stretch a slot. */
const retryAfterSlots = 2;

/** A delivery as it begins: due at once, or missed where its endpoint is disabled. */
export function newDelivery(
  ids: Pick<Delivery, 'merchantId' | 'deliveryId' | 'endpointId' | 'eventId'>,
  endpointEnabled: boolean,
  nowMs: number,
): Delivery {
  return endpointEnabled
    ? { ...ids, state: 'scheduled', attempts: 0, nextAtMs: nowMs }
    : { ...ids, state: 'missed', attempts: 0, nextAtMs: null };
}

/** What an outcome means: every 2xx is success, 410 says that the endpoint wants no more, all else is failure (3xx too). */
export function verdictOf(outcome: Outcome): 'success' | 'failure' | 'gone' {
  if (outcome.kind === 'failed') return 'failure';
  if (outcome.status >= 200 && outcome.status < 300) return 'success';
  return outcome.status === 410 ? 'gone' : 'failure';
}

/**
 * The delivery after an attempt that ended at `nowMs`. A 410 leaves it missed, since it disables the endpoint, and
 * comes once that is enabled again. `jitter` is a random number in [0, 1).
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

/** The delivery when its endpoint was disabled before it came through. */
export function miss(delivery: Delivery): Delivery {
  return moved(delivery, 'miss', delivery.attempts, null);
}

/** The delivery scheduled anew, at once and with all ten attempts. */
export function replay(delivery: Delivery, nowMs: number): Delivery {
  return moved(delivery, 'replay', 0, nowMs);
}

/**
 * Milliseconds to wait after `attempts` failed ones; undefined when that was the last. Retry-After only makes it
 * longer: a receiver may ask for peace, not for haste.
 */
function waitBefore(attempts: number, jitter: number, retryAfterSeconds = 0): number | undefined {
  const seconds = slotSeconds[attempts];
  if (seconds === undefined) return undefined;
  const slotMs = seconds * 1000;
  const jitteredMs = Math.round(slotMs * (1 - jitterPart + 2 * jitterPart * jitter));
  return Math.max(jitteredMs, Math.min(Math.round(retryAfterSeconds * 1000), retryAfterSlots * slotMs));
}

/** An illegal move here is a bug of the caller, who holds the lease, not an expected failure. */
function moved(delivery: Delivery, move: Move, attempts: number, nextAtMs: number | null): Delivery {
  const state = deliveryLifecycle.next(delivery.state, move);
  if (state === undefined) throw new Error(`delivery ${delivery.deliveryId} is ${delivery.state}: it cannot ${move}`);
  return { ...delivery, state, attempts, nextAtMs };
}
