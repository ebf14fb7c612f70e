import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { idGenerator, newId } from '../src/index.js';

const LAST_MS = 2 ** 48 - 1;
const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
const zeros = (length: number) => new Uint8Array(length);
const ones = (length: number) => new Uint8Array(length).fill(255);

describe('newId', () => {
  it('is the prefix and 26 characters', () => {
    expect(newId('in_', 0, zeros(10))).toBe('in_00000000000000000000000000');
    expect(newId('sub_', LAST_MS, ones(10))).toBe('sub_7zzzzzzzzzzzzzzzzzzzzzzzzz');
    expect(newId('ev_', 1_469_918_176_385, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))).toBe(
      `ev_${'01ARYZ6S41041061050R3GG28A'.toLowerCase()}`,
    );
  });

  it('sorts as text by time', () => {
    const time = fc.integer({ min: 0, max: LAST_MS });
    fc.assert(
      fc.property(time, time, bytes, bytes, (a, b, randomA, randomB) => {
        fc.pre(a !== b);
        expect(newId('in_', a, randomA) < newId('in_', b, randomB)).toBe(a < b);
      }),
    );
  });

  it('differs where a single bit of the random part does', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 0, max: 79 }), (random, bit) => {
        const other = random.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
        expect(newId('in_', 1, other)).not.toBe(newId('in_', 1, random));
      }),
    );
  });

  it('refuses a time that does not fit, and random parts that are not 10 bytes', () => {
    for (const ms of [-1, 1.5, Number.NaN, 2 ** 48]) expect(() => newId('in_', ms, zeros(10))).toThrow(RangeError);
    for (const length of [0, 9, 11]) expect(() => newId('in_', 1, zeros(length))).toThrow(RangeError);
  });
});

describe('idGenerator', () => {
  it('ascends, whatever the clock does', () => {
    const steps = fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 2, maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.infiniteStream(bytes), (clock, random) => {
        let now = 1_000_000;
        const next = idGenerator(
          () => now,
          () => random.next().value ?? zeros(10),
        );
        const ids = clock.map(step => {
          now += step;
          return next('in_');
        });
        expect(ids).toEqual([...new Set(ids)].sort());
      }),
    );
  });

  it('takes fresh randomness at each new millisecond only', () => {
    let now = 5;
    const asked: number[] = [];
    const next = idGenerator(
      () => now,
      length => {
        asked.push(length);
        return zeros(length);
      },
    );
    expect([next('a_'), next('b_'), next('a_')].map(id => id.slice(-1))).toEqual(['0', '1', '2']);
    now = 6;
    next('a_');
    expect(asked).toEqual([10, 10]);
  });

  it('refuses a time that is none', () => {
    const next = idGenerator(() => Number.NaN, zeros);
    expect(() => next('a_')).toThrow(RangeError);
  });

  it('carries into the next half, and from the last random part into the next millisecond', () => {
    const half = idGenerator(
      () => 7,
      () => Uint8Array.of(0, 0, 0, 0, 0, 255, 255, 255, 255, 255),
    );
    expect([half('a_'), half('a_')].map(id => id.slice(-16))).toEqual(['00000000zzzzzzzz', '0000000100000000']);
    const full = idGenerator(() => 7, ones);
    expect([full('a_'), full('a_')].map(id => id.slice(2))).toEqual([
      '0000000007zzzzzzzzzzzzzzzz',
      '00000000080000000000000000',
    ]);
  });

  it('makes 100 000 different ids in one millisecond', () => {
    const next = idGenerator(() => 1, zeros);
    expect(new Set(Array.from({ length: 100_000 }, () => next('in_'))).size).toBe(100_000);
  });
});
