import { describe, expect, it } from '@jest/globals';
import { replayStatus } from '@recur/contracts';
import fc from 'fast-check';
import { advanced, ended, type Replay, replayLifecycle } from '../../../../src/deliveries/replays/domain/replay.js';

describe('the lifecycle of a replay', () => {
  const running: Replay = {
    merchantId: 1,
    replayId: 'rp_1',
    endpointId: 1,
    state: 'running',
    events: [],
    deliveredToo: false,
    cursor: 'ev_0',
    until: 'ev_z',
    total: 10,
    scheduled: 0,
    createTime: 1,
    endTime: 0,
  };

  it('has the states that the API has codes for, and leaves only one of them', () => {
    expect(replayLifecycle.states).toEqual(Object.keys(replayStatus));
    for (const state of replayLifecycle.states) {
      for (const move of replayLifecycle.moves) {
        const step = () => ended({ ...running, state }, move, 5);
        if (state === 'running') expect(step()).toMatchObject({ state: replayLifecycle.next(state, move), endTime: 5 });
        else expect(step).toThrow(`is ${state}: it cannot ${move}`);
      }
    }
  });

  it('adds up its rounds, and ends with the one that leaves nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { minLength: 1, maxLength: 20 }), rounds => {
        const last = rounds.reduce(
          (replay, scheduled, at) =>
            advanced(replay, { scheduled, lookedUpTo: `ev_${at}`, more: at < rounds.length - 1 }, at),
          running,
        );
        expect(last.scheduled).toBe(rounds.reduce((sum, n) => sum + n, 0));
        expect(last).toMatchObject({
          state: 'finished',
          cursor: `ev_${rounds.length - 1}`,
          endTime: rounds.length - 1,
        });
      }),
    );
  });
});
