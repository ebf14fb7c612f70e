import { Controller, Inject } from '@nestjs/common';
import { type CurrencyInfo, currencies, exponentOf, getLicense, systemInformation } from '@recur/contracts';
import { CONFIG, Handle } from '@recur/platform';
import type { Config } from './config.js';

/** The currencies of amounts, each with its narrow symbol. */
export const supportedCurrencies: CurrencyInfo[] = [...currencies.keys()].sort().map(currency => {
  const parts = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  const symbol = parts.formatToParts(0).find(({ type }) => type === 'currency')?.value;
  return { Currency: currency, Scale: 10 ** exponentOf(currency), Symbol: symbol ?? currency };
});

/** Node's list lacks UTC, which a merchant may choose like the others. */
export const supportedTimeZones = [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC'])];

export const deploymentKind = ({ RECUR_ENV: env }: Config) => ({ env, isProd: env === 'production' });

/** The licence in the file LICENSE, which limits nothing. */
const license = {
  name: 'Apache-2.0',
  url: 'https://www.apache.org/licenses/LICENSE-2.0',
  unlimited: true,
};

/** Capabilities of the deployment, the same for every merchant. */
@Controller()
export class System {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  @Handle(getLicense)
  async license() {
    return { license };
  }

  @Handle(systemInformation)
  async information() {
    return {
      ...deploymentKind(this.config),
      supportTimeZone: supportedTimeZones,
      supportCurrency: supportedCurrencies,
    };
  }
}
