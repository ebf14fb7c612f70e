import { flag, int, integer, table, text } from '@recur/platform';
import type { TestClock } from './domain/advance.js';

export const testClocks = table<TestClock>('test_clocks', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    version: int(),
    offsetSeconds: integer(),
    target: integer(),
    advancing: flag(),
    done: int(),
    askedBy: text(),
  },
});
