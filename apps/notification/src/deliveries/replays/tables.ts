import { flag, int, integer, oneOf, optionalInteger, table, text, texts } from '@recur/platform';
import { type Replay, replayLifecycle } from './domain/replay.js';

/** A replay as stored. */
export interface ReplayRow extends Omit<Replay, 'events'> {
  events: string[];
  /** Attempts with a higher id were made since the replay began: their deliveries are skipped. Null: skip none. */
  attemptsAfter: number | null;
}

export const replays = table<ReplayRow>('replays', {
  key: ['merchantId', 'replayId'],
  columns: {
    merchantId: integer(),
    replayId: text(),
    endpointId: integer(),
    state: text(),
    events: texts(),
    deliveredToo: flag(),
    cursor: text(),
    until: text(),
    attemptsAfter: optionalInteger(),
    total: int(),
    scheduled: int(),
    createTime: integer(),
    endTime: integer(),
  },
  checks: { replays_state: oneOf('state', replayLifecycle.states) },
  // at most one per endpoint
  indices: { replays_running: { on: ['merchantId', 'endpointId'], unique: true, where: `state = 'running'` } },
});
