import { z } from 'zod';
import { amount, decimal, flag, type Shape, text } from '../field.js';

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
