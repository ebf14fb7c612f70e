import type { MerchantMultiCurrencyConfig } from '@recur/contracts';
import { document, int, integer, table, text } from '@recur/platform';

/** How a merchant's amounts are converted: all its rule sets in one row, since they are set as a whole. */
export interface CurrencyRules {
  merchantId: number;
  version: number;
  sets: MerchantMultiCurrencyConfig[];
  modifyTime: number;
}

export const currencyRules = table<CurrencyRules>('currency_rules', {
  key: ['merchantId'],
  columns: { merchantId: integer(), version: int(), sets: document(), modifyTime: integer() },
});

/** A rate table as it was published. The newest is used; the others tell by what was converted before. */
interface RateTableRow {
  id: number;
  source: string;
  /** Unix second of which its rates are. */
  at: number;
  /** Of all that it says: the same table is taken once. */
  digest: string;
  /** When it was taken over. */
  takenTime: number;
}

/** How much of a currency one major unit of another is, by a rate table. */
interface ExchangeRateRow {
  tableId: number;
  fromCurrency: string;
  toCurrency: string;
  rate: string;
}

/** No merchant's rows, and without row-level security: every merchant converts by the same tables. */
export const infrastructureTables = [
  table<RateTableRow>('rate_tables', {
    key: ['id'],
    columns: { id: integer(), source: text(), at: integer(), digest: text(), takenTime: integer() },
    indices: {
      rate_tables_digest: { on: ['digest'], unique: true },
      rate_tables_newest: { on: ['at', 'id'] },
    },
    infrastructure: true,
  }),
  table<ExchangeRateRow>('exchange_rates', {
    key: ['tableId', 'fromCurrency', 'toCurrency'],
    columns: {
      tableId: integer(),
      fromCurrency: text(),
      toCurrency: text(),
      rate: { type: 'numeric', precision: 30, scale: 12 },
    },
    checks: { exchange_rates_rate: 'rate > 0' },
    infrastructure: true,
  }),
];
