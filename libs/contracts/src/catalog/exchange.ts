import { z } from 'zod';
import { amount, decimal, flag, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const multiCurrencyConfig = z.object({
  amount: amount,
  exchangeRate: decimal,
  fixedAmount: amount,
  autoExchange: flag,
  disable: flag,
  currency: text,
});
export interface MultiCurrencyConfig extends z.output<typeof multiCurrencyConfig> {}
export const MultiCurrencyConfig: Shape<MultiCurrencyConfig> = multiCurrencyConfig.meta({
  id: 'MultiCurrencyConfig',
});

const multiCurrencyRate = z.object({
  from: text,
  to: text,
  rate: decimal,
  source: text.describe(
    "'table' for the rate table, 'plan' for a rate or a fixed amount of the plan; '' before it was kept",
  ),
});
export interface MultiCurrencyRate extends z.output<typeof multiCurrencyRate> {}
export const MultiCurrencyRate: Shape<MultiCurrencyRate> = multiCurrencyRate.meta({
  id: 'MultiCurrencyRate',
});

const multiCurrencySnapshot = z.object({
  chargeCurrency: text,
  rates: z.array(MultiCurrencyRate),
  time: time.describe('When prices were converted; 0 before it was kept'),
});
export interface MultiCurrencySnapshot extends z.output<typeof multiCurrencySnapshot> {}
export const MultiCurrencySnapshot: Shape<MultiCurrencySnapshot> = multiCurrencySnapshot.meta({
  id: 'MultiCurrencySnapshot',
});

export const MultiCurrencyConfigInput = z
  .object({
    amount: input.price.default(0),
    exchangeRate: input.rate.default(0),
    fixedAmount: input.price.default(0),
    autoExchange: input.flag.default(false),
    disable: input.flag.default(false),
    currency: input.Currency,
  })
  .meta({ 'x-shape': 'MultiCurrencyConfigInput' });

const merchantCurrencyConfig = z.object({
  autoExchange: flag,
  currency: text,
  exchangeRate: decimal.describe("The merchant's own rate; 0: none, the rate table is used if autoExchange is set"),
  fixedAmount: amount,
  disable: flag,
});
/** The conversion rule for one target currency. */
export interface MerchantCurrencyConfig extends z.output<typeof merchantCurrencyConfig> {}
export const MerchantCurrencyConfig: Shape<MerchantCurrencyConfig> = merchantCurrencyConfig.meta({
  id: 'MerchantCurrencyConfig',
});

const merchantMultiCurrencyConfig = z.object({
  currencyConfigs: z.array(MerchantCurrencyConfig),
  defaultCurrency: text,
  lastUpdateTime: time,
  name: text,
});
/** A rule set: the conversion of amounts in `defaultCurrency` into other currencies. */
export interface MerchantMultiCurrencyConfig extends z.output<typeof merchantMultiCurrencyConfig> {}
export const MerchantMultiCurrencyConfig: Shape<MerchantMultiCurrencyConfig> = merchantMultiCurrencyConfig.meta({
  id: 'MerchantMultiCurrencyConfig',
});

const merchantCurrencies = z.object({ multiCurrencyConfigs: z.array(MerchantMultiCurrencyConfig) });
/** All rule sets of a merchant. */
export interface MerchantCurrencies extends z.output<typeof merchantCurrencies> {}
export const MerchantCurrencies: Shape<MerchantCurrencies> = merchantCurrencies;

export const MerchantCurrencyConfigInput = input.rule(
  z
    .object({
      autoExchange: input.flag.default(false),
      currency: input.Currency,
      exchangeRate: input.rate.default(0),
      fixedAmount: input.price.default(0),
      disable: input.flag.default(false),
    })
    .meta({ 'x-shape': 'MerchantCurrencyConfigInput' }),
  'is required unless autoExchange, fixedAmount or disable is set',
  ({ exchangeRate, autoExchange, fixedAmount, disable }) =>
    exchangeRate !== 0 || autoExchange || fixedAmount !== 0 || disable,
  ['exchangeRate'],
);

export const MerchantMultiCurrencyConfigInput = z
  .object({
    currencyConfigs: input.distinct(MerchantCurrencyConfigInput, 'currency').default([]),
    defaultCurrency: input.Currency,
    lastUpdateTime: input.integer.optional().describe('Ignored: it is set when the rule set changes'),
    name: input.line.default(''),
  })
  .meta({ 'x-shape': 'MerchantMultiCurrencyConfigInput' });

export const setupMultiCurrencies = operation({
  service: 'catalog',
  name: 'currency.setup',
  methods: ['POST'],
  path: '/merchant/setup_multi_currencies',
  summary: 'Set the currency conversion rules, one set per default currency; the list replaces all existing sets',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    multiCurrencyConfigs: input
      .distinct(MerchantMultiCurrencyConfigInput, 'defaultCurrency')
      .optional()
      .describe('Absent: unchanged; []: none'),
  }),
  output: MerchantCurrencies,
  errors: [],
});

export const exchangeRate = operation({
  service: 'catalog',
  name: 'currency.rate',
  methods: ['GET', 'POST'],
  path: '/merchant/get_exchange_rate',
  summary: "The rate between two currencies: the merchant's own if it has one, else that of the rate table",
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ fromCurrency: input.Currency, toCurrency: input.Currency }),
  output: z.object({
    fromCurrency: text,
    toCurrency: text,
    exchangeRate: decimal.describe('Amount of toCurrency that one major unit of fromCurrency buys'),
    source: text.describe('The source of the rate: `manual` or the name of the rate table'),
    rateTime: time.describe('Unix second at which the rate was set or published'),
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
