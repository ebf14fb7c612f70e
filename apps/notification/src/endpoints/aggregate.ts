import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { endpoints } from './tables.js';
import { endpointView } from './views.js';

export const endpointAggregate = aggregate({
  name: 'endpoint',
  title: 'WebhookEndpoint',
  events,
  table: endpoints,
  key: 'endpointId',
  view: endpointView,
});
