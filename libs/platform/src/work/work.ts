import type { Tx } from '../store/tx.js';

/** An item of work that is due. */
export interface WorkItem {
  /** 0 if it belongs to no merchant. */
  merchantId: number;
  kind: string;
  key: string;
  /** Unix seconds on the clock of its kind. */
  dueAt: number;
  /** The number of this attempt, from 1. */
  attempt: number;
  /**
   * `<kind>_<key>_<dueAt>_<lease>`: the request id of the item's events and log entry. Another one at each attempt, and
   * where the item is scheduled again within the same second.
   */
  requestId: string;
}

export interface WorkOptions {
  /**
   * The clock that `due_at` is on: the merchant's, which can be moved in a sandbox, or the machine's, as for sessions and
   * retention. Merchant 0 has the machine's.
   */
  time: 'merchant' | 'machine';
  /** The most items in one transaction. Default 50. */
  batch?: number;
  /** Attempts before an item is parked. Default 10, in some three hours. */
  attempts?: number;
  /** How long a worker has its items to itself. Must be longer than a batch takes. Default 60. */
  leaseSeconds?: number;
  /** Batches of this kind that one replica does at once. Default 2. */
  atOnce?: number;
  /**
   * False for upkeep that is nobody's command, such as working off a queue: it changes rows without an entry in the
   * operation log. Default true: an item that changes something writes its entry.
   */
  logged?: boolean;
}

/** A kind of work; made by `work` or `fetchedWork`. */
export interface Work extends Required<WorkOptions> {
  kind: string;
  /** Prepares items outside of a transaction; returns the part that is done in it. */
  prepare(items: readonly WorkItem[]): Promise<(tx: Tx) => Promise<void>>;
}

const defaults = { batch: 50, attempts: 10, leaseSeconds: 60, atOnce: 2, logged: true } as const;

/**
 * Declares work that falls due: `tx.schedule(kind, key, at)` schedules it, and `run` does it, in one transaction with
 * taking it off the schedule. `items` are of one merchant, in order of due_at; when they fail together they are done one
 * by one. For each, `tx.item(item)` is the transaction with the item's own request id and log entry. `run` may schedule
 * the item again, and throws if it cannot be done now: it is retried later.
 */
export function work(
  kind: string,
  options: WorkOptions,
  run: (tx: Tx, items: readonly WorkItem[]) => Promise<void>,
): Work {
  return { ...defaults, ...options, kind, prepare: async items => tx => run(tx, items) };
}

/**
 * Declares work that needs something from outside the database, such as an answer of another server: `fetch` gets it
 * before the transaction begins, while the items are leased, so one replica at a time does. Otherwise as `work`.
 */
export function fetchedWork<F>(
  kind: string,
  options: WorkOptions,
  fetch: (items: readonly WorkItem[]) => Promise<F>,
  run: (tx: Tx, items: readonly WorkItem[], fetched: F) => Promise<void>,
): Work {
  const prepare: Work['prepare'] = async items => {
    const fetched = await fetch(items);
    return tx => run(tx, items, fetched);
  };
  return { ...defaults, ...options, kind, prepare };
}

/** The `run` of work whose items are done one after the other, each under its own request id. */
export const eachItem =
  (run: (tx: Tx, item: WorkItem) => Promise<void>) =>
  async (tx: Tx, items: readonly WorkItem[]): Promise<void> => {
    for (const item of items) await run(tx.item(item), item);
  };
