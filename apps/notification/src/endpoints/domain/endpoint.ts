import { machine, type StateOf } from '@recur/kernel';

export const endpointLifecycle = machine({
  enabled: { disable: 'disabled' },
  disabled: { enable: 'enabled' },
});
export type EndpointState = StateOf<typeof endpointLifecycle>;

/** A webhook endpoint and its health. Its secrets are stored separately, encrypted. */
export interface Endpoint {
  merchantId: number;
  endpointId: number;
  url: string;
  /** Event names it subscribed to; empty: none. */
  events: readonly string[];
  /** Product filter; empty: all products, 0: the default product. */
  productIds: readonly number[];
  /** Events of one object are delivered one after the other, by version. */
  ordered: boolean;
  state: EndpointState;
  /** Reason for being disabled: failures for too long, or a 410. Null while enabled. */
  disabledBecause: 'failing' | 'gone' | null;
  /** Failed attempts since the last success, over all deliveries. */
  failures: number;
  /** End of the first of them, in unix milliseconds. */
  failingSinceMs: number | null;
  /** The merchant was notified that it is failing. */
  warned: boolean;
}

/** The part of an event that routing needs. */
export interface Routed {
  type: string;
  /**
   * Products that it concerns, 0 being the default product; empty: none. Evaluated only for endpoints with a product
   * filter, because it parses the event's data, which is long.
   */
  productIds(): readonly number[];
}

const dayMs = 86_400_000;
/** Both limits must be reached without a success in between. */
export const disableAfter = { failures: 20, ms: 5 * dayMs } as const;
/** Half-way there the merchant is warned. */
export const warnAfter = { failures: disableAfter.failures / 2, ms: disableAfter.ms / 2 } as const;

/** After this many failures in a row, one attempt is made at a time until one succeeds. */
export const oneByOneAfter = 5;

const calm = { failures: 0, failingSinceMs: null, warned: false } as const;

/**
 * True when the endpoint subscribed to the event's name and its product filter lets the event pass. An event that concerns
 * no product passes every filter. A disabled endpoint still matches: what it misses is recorded.
 */
export function matches(endpoint: Pick<Endpoint, 'events' | 'productIds'>, event: Routed): boolean {
  if (!endpoint.events.includes(event.type)) return false;
  if (endpoint.productIds.length === 0) return true;
  const concerned = event.productIds();
  return concerned.length === 0 || concerned.some(id => endpoint.productIds.includes(id));
}

/**
 * The endpoint after an attempt that ended at `nowMs`, and the notice for its merchant. The warning always precedes
 * disabling: when failures are so rare that the warning comes late, one more failure is needed. A result that arrives
 * after the endpoint was disabled changes nothing.
 */
export function afterVerdict(
  endpoint: Endpoint,
  verdict: 'success' | 'failure' | 'gone',
  nowMs: number,
): { endpoint: Endpoint; notice?: 'failing' | 'disabled' } {
  if (endpoint.state === 'disabled') return { endpoint };
  if (verdict === 'success') return { endpoint: { ...endpoint, ...calm } };

  const failures = endpoint.failures + 1;
  const failingSinceMs = endpoint.failingSinceMs ?? nowMs;
  const failing = { ...endpoint, failures, failingSinceMs };
  const reached = (limit: { failures: number; ms: number }) =>
    failures >= limit.failures && nowMs - failingSinceMs >= limit.ms;

  if (verdict === 'gone') return { endpoint: disabled(failing, 'gone'), notice: 'disabled' };
  if (endpoint.warned && reached(disableAfter)) return { endpoint: disabled(failing, 'failing'), notice: 'disabled' };
  if (!endpoint.warned && reached(warnAfter)) return { endpoint: { ...failing, warned: true }, notice: 'failing' };
  return { endpoint: failing };
}

/** Changes to an endpoint; what is absent or null stays as it is. */
export interface EndpointChanges {
  url: string;
  events?: readonly string[] | null;
  productIds?: readonly number[] | null;
  ordered?: boolean;
}

/**
 * The endpoint with the changes applied, and enabled; undefined when nothing changes. Its health is reset when it is enabled
 * again or moves to another URL.
 */
export function updated(
  endpoint: Endpoint,
  { url, events, productIds, ordered }: EndpointChanges,
): Endpoint | undefined {
  const after = {
    ...endpoint,
    url,
    events: chosen(endpoint.events, events),
    productIds: chosen(endpoint.productIds, productIds),
    ordered: ordered ?? endpoint.ordered,
  };
  if (endpoint.state === 'disabled' || url !== endpoint.url) return enabled(after);
  const kept = (['events', 'productIds', 'ordered'] as const).every(name => after[name] === endpoint[name]);
  return kept ? undefined : after;
}

/** The requested list without duplicates; the current one when none is requested or only the order differs. */
function chosen<V>(now: readonly V[], requested: readonly V[] | null | undefined): readonly V[] {
  const wanted = new Set(requested ?? now);
  return wanted.size === now.length && now.every(value => wanted.has(value)) ? now : [...wanted];
}

/** The endpoint enabled, with its health reset. */
export function enabled(endpoint: Endpoint): Endpoint {
  return { ...endpoint, ...calm, state: 'enabled', disabledBecause: null };
}

function disabled(endpoint: Endpoint, because: 'failing' | 'gone'): Endpoint {
  return { ...endpoint, state: 'disabled', disabledBecause: because };
}
