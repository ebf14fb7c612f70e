import { z } from 'zod';
import { amount, decimal, flag, type Shape, text } from '../field.js';
import * as input from '../input.js';

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
});
export interface MultiCurrencyRate extends z.output<typeof multiCurrencyRate> {}
export const MultiCurrencyRate: Shape<MultiCurrencyRate> = multiCurrencyRate.meta({
  id: 'MultiCurrencyRate',
});

const multiCurrencySnapshot = z.object({
  chargeCurrency: text,
  rates: z.array(MultiCurrencyRate),
});
export interface MultiCurrencySnapshot extends z.output<typeof multiCurrencySnapshot> {}
export const MultiCurrencySnapshot: Shape<MultiCurrencySnapshot> = multiCurrencySnapshot.meta({
  id: 'MultiCurrencySnapshot',
});

export const MultiCurrencyConfigInput = z.object({
  amount: input.price.default(0),
  exchangeRate: z.number().min(0).default(0),
  fixedAmount: input.price.default(0),
  autoExchange: input.flag.default(false),
  disable: input.flag.default(false),
  currency: input.Currency,
});
