import { describe, expect, it } from '@jest/globals';
import { machine, Rejected } from '../src/index.js';

const door = machine({
  open: { close: 'closed' },
  closed: { open: 'open', lock: 'locked' },
  locked: { unlock: 'closed' },
  bricked: {},
});

describe('machine', () => {
  it('knows its states and moves', () => {
    expect(door.states).toEqual(['open', 'closed', 'locked', 'bricked']);
    expect(door.moves).toEqual(['close', 'open', 'lock', 'unlock']);
  });

  it('takes every move of the table, and refuses every other', () => {
    let refused = 0;
    for (const state of door.states) {
      for (const move of door.moves) {
        const expected: string | undefined = (door.table[state] as Record<string, string>)[move];
        expect(door.next(state, move)).toBe(expected);
        const outcome = attempt(() => door.step(state, move, 'plan_not_activatable', 'Door(1)'));
        if (expected !== undefined) {
          expect(outcome).toBe(expected);
        } else {
          refused++;
          expect(outcome).toBeInstanceOf(Rejected);
          expect(outcome).toMatchObject({
            slug: 'plan_not_activatable',
            message: `Door(1) is ${state}: cannot ${move} it`,
          });
        }
      }
    }
    expect(refused).toBe(12);
  });

  it('takes nothing that every object has for a state or a move', () => {
    const states = door.states as string[] as never[];
    const moves = door.moves as string[] as never[];
    for (const inherited of ['constructor', 'toString', '__proto__'] as string[] as never[]) {
      for (const move of moves) expect(door.next(inherited, move)).toBeUndefined();
      for (const state of states) expect(door.next(state, inherited)).toBeUndefined();
    }
  });

  it('refuses to exist where a move leads nowhere', () => {
    expect(() => machine({ open: { close: 'shut' }, closed: {} })).toThrow('open --close--> shut: no such state');
    expect(() => machine({ open: { close: 'toString' } })).toThrow('no such state');
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
