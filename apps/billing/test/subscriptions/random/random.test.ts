import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { check, seen } from './compare.js';
import { histories } from './history.js';

/** `RANDOM_LIVES` is how many new ones; without it, the same in each run: a change is judged by what it changed. */
const asked = process.env.RANDOM_LIVES;
const runs = Number(asked ?? 10_000);

it(`documents are as previewed and as the oracle computes them, to the line, and periods tile (${runs} random lives)`, () => {
  fc.assert(fc.property(histories, check), { numRuns: runs, ...(asked === undefined && { seed: 20_260_131 }) });
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs / 20);
});
