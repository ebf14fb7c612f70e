import { events } from '@recur/contracts';
import { CONFIG, clockFollower, type ServiceDefinition } from '@recur/platform';
import { checkoutAggregate } from './checkouts/aggregate.js';
import { Checkouts } from './checkouts/checkouts.js';
import { checkouts } from './checkouts/tables.js';
import { addressRules, type Config, config } from './config.js';
import { currencyAggregate } from './currencies/aggregate.js';
import { Currencies } from './currencies/currencies.js';
import { rates } from './currencies/rates/command.js';
import { httpSource } from './currencies/rates/http.js';
import { Rates, removals } from './currencies/rates/rates.js';
import { RATE_SOURCE, RatesRefresh, rateStatus } from './currencies/rates/refresh.js';
import { currencyRules, infrastructureTables } from './currencies/tables.js';
import { metricAggregate } from './metrics/aggregate.js';
import { Metrics } from './metrics/metrics.js';
import { metrics } from './metrics/tables.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Lists1795262400002 } from './migrations/0002-lists.js';
import { Filters1795262400003 } from './migrations/0003-filters.js';
import { Orders1795262400004 } from './migrations/0004-orders.js';
import { Checkouts1795262400005 } from './migrations/0005-checkouts.js';
import { Metrics1795262400006 } from './migrations/0006-metrics.js';
import { Plans1795262400007 } from './migrations/0007-plans.js';
import { Relay1795262400008 } from './migrations/0008-relay.js';
import { Work1795262400009 } from './migrations/0009-work.js';
import { DeadLetters1795262400010 } from './migrations/0010-dead-letters.js';
import { PriceChanges1795262400011 } from './migrations/0011-price-changes.js';
import { DefaultProducts1795262400012 } from './migrations/0012-default-products.js';
import { planAggregate } from './plans/aggregate.js';
import { CheckoutLinks } from './plans/checkout-links.js';
import { PlanLimits } from './plans/limits.js';
import { PlanList } from './plans/list.js';
import { PlanMoves } from './plans/moves.js';
import { Offers } from './plans/offers.js';
import { Plans } from './plans/plans.js';
import { PriceChanges } from './plans/price-changes.js';
import { planMetrics, planPriceChanges, plans } from './plans/tables.js';
import { productAggregate } from './products/aggregate.js';
import { Products } from './products/products.js';
import { products } from './products/tables.js';

export const catalog: ServiceDefinition<Config> = {
  name: 'catalog',
  config,
  schema: {
    tables: [
      products,
      plans,
      checkouts,
      metrics,
      planMetrics,
      planPriceChanges,
      currencyRules,
      ...infrastructureTables,
    ],
    migrations: [
      Init1763683200001,
      Lists1795262400002,
      Filters1795262400003,
      Orders1795262400004,
      Checkouts1795262400005,
      Metrics1795262400006,
      Plans1795262400007,
      Relay1795262400008,
      Work1795262400009,
      DeadLetters1795262400010,
      PriceChanges1795262400011,
      DefaultProducts1795262400012,
    ],
    worksFrom: 8,
  },
  events,
  aggregates: {
    product: productAggregate,
    plan: planAggregate,
    checkout: checkoutAggregate,
    metric: metricAggregate,
    currency: currencyAggregate,
  },
  controllers: [
    Products,
    Plans,
    PlanMoves,
    PlanList,
    PlanLimits,
    Metrics,
    Currencies,
    Checkouts,
    CheckoutLinks,
    Offers,
    PriceChanges,
  ],
  providers: [
    Rates,
    RatesRefresh,
    {
      provide: RATE_SOURCE,
      useFactory: (of: Config) => of.RATES_URL && httpSource(of.RATES_URL, addressRules(of)),
      inject: [CONFIG],
    },
  ],
  consumptions: () => [clockFollower('catalog')],
  workers: app => [app.get(RatesRefresh)],
  work: app => [app.get(RatesRefresh).work],
  removals,
  details: app => ({ exchangeRates: async () => rateStatus(await app.get(Rates).newest()) }),
  commands: { rates },
};
