import type { Tx } from '../store/tx.js';

/** One thing that is due. */
export interface WorkItem {
  /** 0 where it belongs to no merchant. */
  merchantId: number;
  kind: string;
  key: string;
  /** Unix seconds on the clock of its kind. */
  dueAt: number;
  /** Which attempt this is, from 1. */
  attempt: number;
  /** `<kind>_<key>`: of the item's events and log entry, whichever attempt succeeds. */
  requestId: string;
}

export interface WorkOptions {
  /**
   * Which clock `due_at` is on: the merchant's, which can be moved in a sandbox, or the machine's, as for sessions and
   * what is kept for some time. Merchant 0 has the machine's.
   */
  time: 'merchant' | 'machine';
  /** How many items one transaction does at most. Default 50. */
  batch?: number;
  /** How often an item is tried before it is parked. Default 10, in some three hours. */
  attempts?: number;
  /** For how long a worker has its items to itself. Must be longer than a batch takes. Default 60. */
  leaseSeconds?: number;
  /** How many batches of this kind one replica does at once. Default 2. */
  atOnce?: number;
}

/** A kind of work, and what is done when it is due; made by `work`. */
export interface Work extends Required<WorkOptions> {
  kind: string;
  run(tx: Tx, items: readonly WorkItem[]): Promise<void>;
}

/**
 * Declares work that falls due: `tx.schedule(kind, key, at)` plans it, and `run` does it, in one transaction with taking it
 * off the schedule. `items` are of one merchant, in order of due_at; when they fail together they are done one by one. For
 * each, `tx.item(item)` is the transaction with the item's own request id and log entry. `run` may schedule the item
 * again, and throws when it cannot be done: it is tried later.
 */
export function work(kind: string, options: WorkOptions, run: Work['run']): Work {
  return { batch: 50, attempts: 10, leaseSeconds: 60, atOnce: 2, ...options, kind, run };
}

/** For work whose items are done one after the other, each under its own request id. */
export const eachItem =
  (run: (tx: Tx, item: WorkItem) => Promise<void>): Work['run'] =>
  async (tx, items) => {
    for (const item of items) await run(tx.item(item), item);
  };
