import { ClockMoved, events, type Service } from '@recur/contracts';
import type { Tx } from '../store/tx.js';
import type { Consumption } from './consumption.js';

const type = 'clock.moved' satisfies keyof typeof events;

/**
 * Moves the clocks of a service's merchants with those of the service that owns them. `moved` is called in the same
 * transaction, with the seconds by which the clock went forward: for what is scheduled outside of `due_work`.
 */
export function clockFollower(
  service: Service,
  { moved, done }: { moved?(tx: Tx, seconds: number): Promise<void>; done?: Consumption['done'] } = {},
): Consumption {
  return {
    name: `${service}-clock`,
    from: events[type].owner,
    subject: type,
    order: 'latest',
    apply: async (tx, all) => {
      // clocks move forward only: the greatest offset is the newest
      const offset = Math.max(...all.map(({ data }) => ClockMoved.parse(data).offset));
      const seconds = (await tx.moveClock(offset)).now - tx.now;
      if (seconds > 0) await moved?.(tx, seconds);
    },
    ...(done && { done }),
  };
}
