import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { metrics } from './tables.js';
import { metricView } from './views.js';

export const metricAggregate = aggregate({
  name: 'metric',
  title: 'Metric',
  events,
  table: metrics,
  key: 'id',
  view: metricView,
  lookups: { code: code => ({ code, deletedTime: 0 }) },
});
