import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { testClocks } from './tables.js';

/** A merchant's clock; its events carry the time of the step, which other services follow. */
export const clockAggregate = aggregate({
  name: 'clock',
  title: 'TestClock',
  events,
  table: testClocks,
  key: 'merchantId',
});
