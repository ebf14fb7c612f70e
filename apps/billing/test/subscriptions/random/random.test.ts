import { expect, it, jest } from '@jest/globals';
import { isMany, sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { check, seen } from './compare.js';
import { histories } from './history.js';

/** The same in each run of `npm test`: a change is judged by what it changed. */
const seed = isMany ? jest.getSeed() : 20_260_131;
const runs = sized(3_000, 100_000);

it(`documents are as previewed and as the oracle computes them, to the line, and periods tile (${runs} random lives)`, () => {
  fc.assert(fc.property(histories, check), { numRuns: runs, seed });
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs / 20);
});
