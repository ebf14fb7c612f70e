import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { currencyRules } from './tables.js';

export const currencyAggregate = aggregate({
  name: 'currency',
  title: 'MultiCurrencies',
  events,
  table: currencyRules,
  key: 'merchantId',
  view: ({ sets }) => ({ multiCurrencyConfigs: sets }),
});
