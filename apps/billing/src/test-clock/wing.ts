import type { Wing } from '@recur/platform';
import { ClockAdvance } from './advance.js';
import { clockAggregate, testClocks } from './clock.js';
import { TestClocks } from './test-clock.js';

/** The clock of a sandbox merchant. */
export const testClockWing: Wing = {
  tables: [testClocks],
  aggregates: { clock: clockAggregate },
  controllers: [TestClocks],
  providers: [ClockAdvance],
  work: app => [app.get(ClockAdvance).work],
};
