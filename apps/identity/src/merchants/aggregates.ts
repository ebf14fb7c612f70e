import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { apiKeys, merchants } from './tables.js';
import { apiKeyView, merchantState } from './views.js';

export const merchantAggregate = aggregate({
  name: 'merchant',
  title: 'Merchant',
  events,
  table: merchants,
  key: 'merchantId',
  view: merchantState,
});

export const apiKeyAggregate = aggregate({
  name: 'apikey',
  title: 'ApiKey',
  events,
  table: apiKeys,
  key: 'id',
  view: apiKeyView,
});
