import { machine, type StateOf } from '@recur/kernel';
import { deliveryLifecycle } from './delivery.js';

/** Deliveries to one endpoint that are sent again, some at a time. `stopped`: its endpoint was disabled or deleted. */
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
  /** Everything up to this event id has been looked at. */
  cursor: string;
  /** It ends before this event id. */
  until: string;
  /** How many deliveries it is to schedule, and how many it has. */
  total: number;
  scheduled: number;
  createTime: number;
  /** Unix seconds; 0 while it runs. */
  endTime: number;
}

/** A round: how many deliveries it has scheduled, the event after which the next one begins, and whether any is left. */
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

/** The replay when it runs no longer. That it runs is for the caller to look at, under its lock: else it is a bug. */
export function ended<R extends Replay>(replay: R, move: 'finish' | 'cancel' | 'stop', now: number): R {
  const state = replayLifecycle.next(replay.state, move);
  if (state === undefined) throw new Error(`replay ${replay.replayId} is ${replay.state}: it cannot ${move}`);
  return { ...replay, state, endTime: now };
}

/** Deliveries that a replay sends again: what failed, was missed and is not still to come, and on demand what came through. */
export const statesOf = (deliveredToo: boolean) =>
  deliveryLifecycle.states.filter(state => state !== 'scheduled' && (deliveredToo || state !== 'delivered'));
