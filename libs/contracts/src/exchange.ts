import { z } from 'zod';
import { decimal, text, time } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { MerchantCurrencies, MerchantMultiCurrencyConfigInput, MultiCurrencyConfig } from './shapes/currency.js';

export const setupMultiCurrencies = operation({
  service: 'catalog',
  name: 'currency.setup',
  methods: ['POST'],
  path: '/merchant/setup_multi_currencies',
  summary: 'Set how amounts are converted, a rule set for each default currency; the list replaces all there were',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    multiCurrencyConfigs: input
      .distinct(MerchantMultiCurrencyConfigInput, 'defaultCurrency')
      .optional()
      .describe('Absent: they stay as they are; []: none'),
  }),
  output: MerchantCurrencies,
  errors: [],
});

export const exchangeRate = operation({
  service: 'catalog',
  name: 'currency.rate',
  methods: ['GET', 'POST'],
  path: '/merchant/get_exchange_rate',
  summary: "The rate between two currencies: the merchant's own where there is one, else that of the rate table",
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ fromCurrency: input.Currency, toCurrency: input.Currency }),
  output: z.object({
    fromCurrency: text,
    toCurrency: text,
    exchangeRate: decimal.describe('How much of toCurrency one major unit of fromCurrency is'),
    source: text.describe('Who says so: `manual`, or the name of the rate table'),
    rateTime: time.describe('Unix second of which the rate is'),
  }),
  errors: ['exchange_rate_not_found'],
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
