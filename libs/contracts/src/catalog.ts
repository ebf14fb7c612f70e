import { z } from 'zod';
import * as input from './input.js';
import { operation } from './operation.js';
import { MultiCurrencyConfig } from './shapes/currency.js';
import { MerchantMetric } from './shapes/metric.js';

export const deleteMetric = operation({
  service: 'catalog',
  name: 'metric.delete',
  methods: ['POST'],
  path: '/merchant/metric/delete',
  summary: 'Delete and archive a metric that no active plan uses',
  effect: 'write',
  permission: 'billable-metric.write',
  input: z.object({ metricId: input.integer }),
  output: z.object({ merchantMetric: MerchantMetric }),
  errors: ['metric_not_found', 'metric_in_use'],
});

export const exchangeAmount = operation({
  service: 'catalog',
  name: 'currency.exchange',
  methods: ['POST'],
  path: '/merchant/amount_multi_currencies_exchange',
  summary: "Convert an amount into each currency of the merchant's rules for its currency",
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ amount: input.integer, currency: input.Currency }),
  output: z.object({ multiCurrencyConfigs: z.array(MultiCurrencyConfig) }),
  errors: [],
});
