import type { Bus } from '../bus/bus.js';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Emitted, Sighting } from '../store/db-parts.js';

/** The services that compute with copies of a service's aggregates, by aggregate. */
export type KeptBy = Readonly<Record<string, readonly string[]>>;

/** A state of an aggregate: `[merchantId, aggregate, aggregateId, version]`. */
type KeptState = readonly [merchantId: number, aggregate: string, id: string, version: number];

/** States that a keeper has committed. */
interface Announcement {
  by: string;
  states: readonly KeptState[];
}

/** Milliseconds that an answer waits for keepers at most. */
const patienceMs = 1_000;

const subjectOf = (owner: string) => `seen.${owner}`;

/** Tells the owner of aggregates which states of them this service keeps by now. */
export function announce(bus: Pick<Bus, 'signal'>, owner: string, { by, states }: Announcement): void {
  bus.signal(subjectOf(owner), JSON.stringify({ by, states }));
}

interface Wait {
  /** The keepers that have not announced it, by what they have to announce. */
  left: Map<string, { keeper: string; version: number }>;
  end(): void;
}

/**
 * The owner's side of "what was answered is seen": a command that changes what other services compute with is answered when
 * they have committed the new state. They announce it on core NATS. A keeper that is silent for as long as an answer waits
 * holds up none until it is heard of again: it asks for what it has missed.
 */
export class Keepers {
  private readonly waits = new Set<Wait>();
  private readonly silent = new Set<string>();

  constructor(
    bus: Pick<Bus, 'onSignal'>,
    service: string,
    private readonly keptBy: KeptBy,
    private readonly clock: Clock,
  ) {
    bus.onSignal(subjectOf(service), text => this.hear(JSON.parse(text)));
  }

  /**
   * Begins to listen for the keepers of what a command is about to commit; undefined where nobody has to see it, or no
   * caller waits for an answer.
   */
  expect({ merchantId, deadline }: Caller, events: readonly Emitted[]): Sighting | undefined {
    const left: Wait['left'] = new Map();
    for (const { aggregate, aggregateId, version } of events) {
      for (const keeper of this.keptBy[aggregate] ?? []) {
        if (!this.silent.has(keeper))
          left.set(keeperKey(keeper, [merchantId, aggregate, aggregateId]), { keeper, version });
      }
    }
    const waitMs = Math.min(patienceMs, deadline - this.clock.wall());
    if (left.size === 0 || deadline === Number.POSITIVE_INFINITY || waitMs <= 0) return undefined;
    let end: () => void = () => undefined;
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const wait: Wait = { left, end };
    this.waits.add(wait);
    const forget = () => void this.waits.delete(wait);
    return {
      forget,
      seen: async () => {
        const timer = setTimeout(() => this.giveUp(wait), waitMs);
        if (wait.left.size > 0) await ended;
        clearTimeout(timer);
        forget();
      },
    };
  }

  private hear({ by, states }: Announcement): void {
    this.silent.delete(by);
    for (const wait of this.waits) {
      for (const [merchantId, aggregate, id, version] of states) {
        const key = keeperKey(by, [merchantId, aggregate, id]);
        if ((wait.left.get(key)?.version ?? Number.POSITIVE_INFINITY) <= version) wait.left.delete(key);
      }
      if (wait.left.size === 0) wait.end();
    }
  }

  private giveUp(wait: Wait): void {
    for (const { keeper } of wait.left.values()) this.silent.add(keeper);
    wait.end();
  }
}

const keeperKey = (keeper: string, of: readonly [merchantId: number, aggregate: string, id: string]): string =>
  JSON.stringify([keeper, ...of]);
