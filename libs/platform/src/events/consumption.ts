import type { Event } from '../store/event.js';
import type { Tx } from '../store/tx.js';

/** A durable subscription of a service to events of another, and their effect. */
export interface Consumption {
  /** Durable name; also the key of inbox and gate. */
  name: string;
  /** The service that publishes the events. */
  from: string;
  /** Subject after `evt.<from>.`; wildcards are fine. */
  subject: string;
  /**
   * Delivery per aggregate: `every` event in order; its `latest` state only; or events that stand `alone`, each an
   * aggregate of its own.
   */
  order: 'every' | 'latest' | 'alone';
  /** The effect of one merchant's events, in order, in the transaction of their inbox rows. */
  apply(tx: Tx, events: readonly Event[]): Promise<void>;
  /** Called after events of a merchant are durable. */
  done?(merchantId: number, events: readonly Event[]): void;
}
