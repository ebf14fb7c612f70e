import type { Service } from '@recur/contracts';
import type { Event } from '../store/event.js';
import type { Tx } from '../store/tx.js';
import type { Followed } from './stream.js';

/** Events that a service follows, and their effect. The name is also the key of inbox and gate. */
export interface Consumption extends Followed {
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

/** The events by which a service follows a copy. */
export const followingOf = (
  service: string,
  { name, owner, aggregate }: { name: string; owner: Service; aggregate: string },
): Pick<Consumption, 'name' | 'from' | 'subject' | 'order'> => ({
  order: 'latest',
  name: consumerOfCopy(service, name),
  from: owner,
  // types of `creditAccount` begin with `credit.account`
  subject: `${aggregate.replace(/[A-Z].*/, '')}.>`,
});

/** The durable name of the consumption of a copy. */
export const consumerOfCopy = (service: string, copy: string): string => `${service}-copy-${copy}`;
