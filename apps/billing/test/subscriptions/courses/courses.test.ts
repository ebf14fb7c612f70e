import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { isMany, sized } from '@recur/platform/testing/size';
import { type Subscribers, subscribers } from '../../world/clock.js';
import { Course, seen } from './course.js';

/*
 * Random courses of subscriptions by commands on the test clock: trials, steps, usage, codes, changes, free time, cards
 * that decline or answer late, refunds and endings in any order. Each document of a change and of the cycle is the one that
 * was previewed, and the rules of audit.ts hold after each step. `npm test` lives the same in each run.
 */

const courses = sized(12, 200);
const first = isMany ? jest.getSeed() : 20_051;

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());

it(
  `documents are as previewed, periods tile and money adds up in ${courses} random courses`,
  async () => {
    for (let seed = first; seed < first + courses; seed++) {
      const { trace, findings } = await Course.live(s, seed);
      if (findings.length > 0) throw new Error([`course ${seed}`, ...findings, ...trace].join('\n'));
    }
    if (isMany) return;
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(1);
  },
  sized(600_000, 3_600_000),
);
