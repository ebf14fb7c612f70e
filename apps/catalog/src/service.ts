import { events } from '@recur/contracts';
import { aggregate, CONFIG, type ServiceDefinition } from '@recur/platform';
import { Checkouts } from './checkouts.js';
import { addressRules, type Config, config } from './config.js';
import { Currencies } from './currencies.js';
import { currencyRules, infrastructureTables } from './currency-tables.js';
import { metrics, planMetrics } from './metric-tables.js';
import { metricView } from './metric-views.js';
import { Metrics } from './metrics.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Lists1795262400002 } from './migrations/0002-lists.js';
import { Filters1795262400003 } from './migrations/0003-filters.js';
import { Orders1795262400004 } from './migrations/0004-orders.js';
import { Checkouts1795262400005 } from './migrations/0005-checkouts.js';
import { Metrics1795262400006 } from './migrations/0006-metrics.js';
import { Plans1795262400007 } from './migrations/0007-plans.js';
import { Relay1795262400008 } from './migrations/0008-relay.js';
import { Work1795262400009 } from './migrations/0009-work.js';
import { PlanLimits } from './plan-limits.js';
import { PlanList } from './plan-list.js';
import { PlanMoves } from './plan-moves.js';
import { Plans } from './plans.js';
import { Products } from './products.js';
import { Rates, removals } from './rates.js';
import { rates } from './rates-command.js';
import { httpSource } from './rates-http.js';
import { RATE_SOURCE, RatesWorker, toldOf } from './rates-worker.js';
import { checkouts, plans, products } from './tables.js';
import { checkoutView, planView, productView } from './views.js';

export const catalog: ServiceDefinition<Config> = {
  name: 'catalog',
  config,
  schema: {
    tables: [products, plans, checkouts, metrics, planMetrics, currencyRules, ...infrastructureTables],
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
    ],
    worksFrom: 8,
  },
  events,
  aggregates: {
    product: aggregate(products, 'id', productView),
    plan: aggregate(plans, 'id', planView),
    checkout: aggregate(checkouts, 'id', checkoutView),
    metric: aggregate(metrics, 'id', metricView),
    currency: aggregate(currencyRules, 'merchantId', ({ sets }) => ({ multiCurrencyConfigs: sets })),
  },
  handlers: [Products, Plans, PlanMoves, PlanList, PlanLimits, Metrics, Currencies, Checkouts],
  providers: [
    Rates,
    RatesWorker,
    {
      provide: RATE_SOURCE,
      useFactory: (of: Config) => of.RATES_URL && httpSource(of.RATES_URL, addressRules(of)),
      inject: [CONFIG],
    },
  ],
  workers: app => [app.get(RatesWorker)],
  removals,
  details: app => ({ exchangeRates: async () => toldOf(await app.get(Rates).newest()) }),
  commands: { rates },
};
