import { machine, type StateOf } from '@recur/kernel';
import { deliveryLifecycle } from '../../domain/delivery.js';

/** Deliveries to one endpoint that are sent again in rounds. `stopped`: the endpoint was disabled or deleted. */
export const replayLifecycle = machine({
  running: { finish: 'finished', cancel: 'cancelled', stop: 'stopped' },
  finished: {},
  cancelled: {},
  stopped: {},
});
export type ReplayState = StateOf<typeof replayLifecycle>;

export interface Replay {
  merchantId: number;
  replayId: string;
  endpointId: number;
  state: ReplayState;
  /** Names of events; empty: all. */
  events: readonly string[];
  deliveredToo: boolean;
  /** Last event id that was examined. */
  cursor: string;
  /** Exclusive upper bound of event ids. */
  until: string;
  /** Deliveries to be scheduled, and those scheduled so far. */
  total: number;
  scheduled: number;
  createTime: number;
  /** Unix seconds; 0 while it runs. */
  endTime: number;
}

/** Result of a round: deliveries scheduled, the last event examined, and whether more are left. */
export interface Round {
  scheduled: number;
  lookedUpTo: string;
  more: boolean;
}

/** The replay after a round. */
export function advanced<R extends Replay>(replay: R, { scheduled, lookedUpTo, more }: Round, now: number): R {
  const after = { ...replay, scheduled: replay.scheduled + scheduled, cursor: lookedUpTo };
  return more ? after : ended(after, 'finish', now);
}

/** The replay after it has ended. Throws unless it is running, which callers check under its lock. */
export function ended<R extends Replay>(replay: R, move: 'finish' | 'cancel' | 'stop', now: number): R {
  const state = replayLifecycle.next(replay.state, move);
  if (state === undefined) throw new Error(`replay ${replay.replayId} is ${replay.state}: it cannot ${move}`);
  return { ...replay, state, endTime: now };
}

/** States of deliveries that a replay sends again: failed and missed, and on request delivered. */
export const statesOf = (deliveredToo: boolean) =>
  deliveryLifecycle.states.filter(state => state !== 'scheduled' && (deliveredToo || state !== 'delivered'));
