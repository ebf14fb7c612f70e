import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { callers } from './tables.js';

/** Gateways' knowledge of callers, all merchants together. Its events carry changes, not a state. */
export const callersAggregate = aggregate({
  name: 'callers',
  title: 'Callers',
  events,
  table: callers,
  key: 'id',
});
