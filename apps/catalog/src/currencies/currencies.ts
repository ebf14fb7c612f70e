import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import {
  exchangeAmount,
  exchangeRate,
  exponentOf,
  type In,
  type MerchantMultiCurrencyConfig,
  type MultiCurrencyConfig,
  setupMultiCurrencies,
} from '@recur/contracts';
import { exchange, Rejected, rateNumber, rateOf, safe } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { currencyAggregate } from './aggregate.js';
import { Rates } from './rates/rates.js';
import { type CurrencyRules, currencyRules } from './tables.js';

/** Source shown for a rate that the merchant set. */
const MANUAL = 'manual';

@Controller()
export class Currencies {
  constructor(
    private readonly db: Db,
    private readonly rates: Rates,
  ) {}

  @Handle(setupMultiCurrencies)
  setup({ multiCurrencyConfigs: asked }: In<typeof setupMultiCurrencies>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const rules = (await tx.lockIfAny(currencyAggregate, {})) ?? {
        merchantId: tx.merchantId,
        version: 0,
        sets: [],
        modifyTime: 0,
      };
      const sets = asked?.map(set => updated(set, rules.sets, tx.now)) ?? rules.sets;
      if (isDeepStrictEqual(sets, rules.sets)) return { multiCurrencyConfigs: sets };
      const changed: CurrencyRules = { ...rules, sets, modifyTime: tx.now };
      tx.onConflict('currency_rules_pkey', 'again');
      tx.log('MultiCurrencies', 'Update');
      return tx.step(currencyAggregate, changed, 'currency.updated').view;
    });
  }

  @Handle(exchangeRate)
  async rate({ fromCurrency, toCurrency }: In<typeof exchangeRate>, caller: Caller) {
    const pair = { fromCurrency, toCurrency };
    const set = await this.setOf(fromCurrency, caller);
    const own = set?.currencyConfigs.find(({ currency, disable }) => currency === toCurrency && !disable);
    if (set && own && own.exchangeRate > 0) {
      return { ...pair, exchangeRate: own.exchangeRate, source: MANUAL, rateTime: set.lastUpdateTime };
    }
    const known = (await this.rates.among(fromCurrency, [toCurrency])).get(toCurrency);
    if (!known) throw new Rejected('exchange_rate_not_found', `No rate from ${fromCurrency} to ${toCurrency} is known`);
    return { ...pair, exchangeRate: rateNumber(known.rate), source: known.source, rateTime: known.at };
  }

  @Handle(exchangeAmount)
  async exchange({ amount, currency }: In<typeof exchangeAmount>, caller: Caller) {
    const configs = (await this.setOf(currency, caller))?.currencyConfigs.filter(({ disable }) => !disable) ?? [];
    const asked = configs.filter(({ autoExchange, exchangeRate }) => autoExchange && exchangeRate === 0);
    const known = await this.rates.among(
      currency,
      asked.map(({ currency }) => currency),
    );
    const multiCurrencyConfigs = configs.flatMap((config): MultiCurrencyConfig[] => {
      const rate = config.exchangeRate > 0 ? rateOf(config.exchangeRate) : known.get(config.currency)?.rate;
      if (rate !== undefined) {
        const converted = convert({ amount, currency }, rate, config.currency);
        return [{ ...config, exchangeRate: rateNumber(rate), amount: converted }];
      }
      // no rate: only the fixed amount is left
      return config.fixedAmount > 0 ? [{ ...config, amount: config.fixedAmount }] : [];
    });
    return { multiCurrencyConfigs };
  }

  /** Rule set for amounts in a currency. */
  private async setOf(currency: string, caller: Caller): Promise<MerchantMultiCurrencyConfig | undefined> {
    const sets = await this.db.read(caller, rulesOf);
    return sets.find(({ defaultCurrency }) => defaultCurrency === currency);
  }
}

const rulesOf = async (reader: Reader) => (await reader.find(currencyRules, {}))?.sets ?? [];

type SetInput = NonNullable<In<typeof setupMultiCurrencies>['multiCurrencyConfigs']>[number];

/** Rule set to store: `lastUpdateTime` is the time of its last change and never taken from the input. */
function updated(
  { name, defaultCurrency, currencyConfigs }: SetInput,
  before: readonly MerchantMultiCurrencyConfig[],
  now: number,
): MerchantMultiCurrencyConfig {
  const known = before.find(set => set.defaultCurrency === defaultCurrency);
  const set = { currencyConfigs, defaultCurrency, lastUpdateTime: known?.lastUpdateTime ?? now, name };
  return known && isDeepStrictEqual(set, known) ? known : { ...set, lastUpdateTime: now };
}

const convert = (of: { amount: number; currency: string }, rate: bigint, to: string): number =>
  safe(exchange(BigInt(of.amount), rate, exponentOf(of.currency), exponentOf(to)), '/amount');
