import type { MerchantMultiCurrencyConfig } from '@recur/contracts';
import { document, int, integer, table, text } from '@recur/platform';

/** Conversion rules of a merchant: all rule sets in one row, since they are always set together. */
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

/** A rate table as published. Only the newest is used; older ones document earlier conversions. */
interface RateTableRow {
  id: number;
  source: string;
  /** Unix second the rates apply to. */
  at: number;
  /** SHA-256 of its content, so that a table is imported once. */
  digest: string;
  /** Unix second of the import. */
  takenTime: number;
}

/** A rate of a table: `toCurrency` per major unit of `fromCurrency`. */
interface ExchangeRateRow {
  tableId: number;
  fromCurrency: string;
  toCurrency: string;
  rate: string;
}

/** Shared by all merchants, so without merchant_id and row-level security. */
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
