import { machine, type StateOf } from '@recur/kernel';

export const endpointLifecycle = machine({
  enabled: { disable: 'disabled' },
  disabled: { enable: 'enabled' },
});
export type EndpointState = StateOf<typeof endpointLifecycle>;

/** Where a merchant wants its events, and how that has been going. Its secrets are kept apart from it, encrypted. */
export interface Endpoint {
  merchantId: number;
  endpointId: number;
  url: string;
  /** Names of the events that it subscribed to; empty: none. */
  events: readonly string[];
  /** Products whose events it wants; empty: all, 0: the default product. */
  productIds: readonly number[];
  /** It gets the events of one object one after the other, by version. */
  ordered: boolean;
  state: EndpointState;
  /** Why it is disabled: it failed for too long, or it answered 410. Null while it is enabled. */
  disabledBecause: 'failing' | 'gone' | null;
  /** Attempts that failed since the last success, over all of its deliveries. */
  failures: number;
  /** When the first of them ended, in unix milliseconds. */
  failingSinceMs: number | null;
  /** The merchant was told that it is failing. */
  warned: boolean;
}

/** What routing needs to know of an event. */
export interface Routed {
  type: string;
  /**
   * The products that it concerns, 0 being the default product; empty: none. Asked for where an endpoint wants some
   * products only, since it takes reading the event's data, which is long.
   */
  productIds(): readonly number[];
}

const dayMs = 86_400_000;
/** Both must be reached, without one success in between. */
export const disableAfter = { failures: 20, ms: 5 * dayMs } as const;
/** Half-way to it: the merchant is warned. */
export const warnAfter = { failures: disableAfter.failures / 2, ms: disableAfter.ms / 2 } as const;

/** So many failures in a row: it is tried by one attempt at a time from then on, until one succeeds. */
export const oneByOneAfter = 5;

const calm = { failures: 0, failingSinceMs: null, warned: false } as const;

/**
 * Whether the event goes to this endpoint: its name is subscribed, and its product wanted. An event that concerns no
 * product passes every product filter. A disabled endpoint still matches: what it misses is recorded.
 */
export function matches(endpoint: Pick<Endpoint, 'events' | 'productIds'>, event: Routed): boolean {
  if (!endpoint.events.includes(event.type)) return false;
  if (endpoint.productIds.length === 0) return true;
  const concerned = event.productIds();
  return concerned.length === 0 || concerned.some(id => endpoint.productIds.includes(id));
}

/**
 * The endpoint after an attempt to it that ended at `nowMs`, and what its merchant is to be told. It is never disabled
 * for failing before it was warned: where failures are so rare that the warning comes late, one more is needed.
 * A result that comes in after it was disabled changes nothing.
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

/** What a merchant may say of an endpoint; what is absent or null stays as it is. */
export interface Wishes {
  url: string;
  events?: readonly string[] | null;
  productIds?: readonly number[] | null;
  ordered?: boolean;
}

/**
 * The endpoint as its merchant wishes it, in service; undefined where it is so already. Its slate is clean where it
 * comes back into service or moves to another URL, which is not to blame for how the one before it did.
 */
export function updated(endpoint: Endpoint, { url, events, productIds, ordered }: Wishes): Endpoint | undefined {
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

/** What was wished for, without repeats; the list as it is where nothing was, or the same in another order. */
function chosen<V>(now: readonly V[], wished: readonly V[] | null | undefined): readonly V[] {
  const wanted = new Set(wished ?? now);
  return wanted.size === now.length && now.every(value => wanted.has(value)) ? now : [...wanted];
}

/** The endpoint in service again, with a clean slate; one that is enabled already only gets the clean slate. */
export function enabled(endpoint: Endpoint): Endpoint {
  return { ...endpoint, ...calm, state: 'enabled', disabledBecause: null };
}

function disabled(endpoint: Endpoint, because: 'failing' | 'gone'): Endpoint {
  return { ...endpoint, state: 'disabled', disabledBecause: because };
}
