import { events } from '@recur/contracts';
import { aggregate, type ServiceDefinition } from '@recur/platform';
import { Checkouts } from './checkouts.js';
import { type Config, config } from './config.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Lists1795262400002 } from './migrations/0002-lists.js';
import { Filters1795262400003 } from './migrations/0003-filters.js';
import { Orders1795262400004 } from './migrations/0004-orders.js';
import { Checkouts1795262400005 } from './migrations/0005-checkouts.js';
import { Plans1795262400007 } from './migrations/0007-plans.js';
import { PlanList } from './plan-list.js';
import { PlanMoves } from './plan-moves.js';
import { Plans } from './plans.js';
import { Products } from './products.js';
import { checkouts, plans, products } from './tables.js';
import { checkoutView, planView, productView } from './views.js';

export const catalog: ServiceDefinition<Config> = {
  name: 'catalog',
  config,
  schema: {
    tables: [products, plans, checkouts],
    migrations: [
      Init1763683200001,
      Lists1795262400002,
      Filters1795262400003,
      Orders1795262400004,
      Checkouts1795262400005,
      Plans1795262400007,
    ],
  },
  events,
  aggregates: {
    product: aggregate(products, 'id', productView),
    plan: aggregate(plans, 'id', planView),
    checkout: aggregate(checkouts, 'id', checkoutView),
  },
  handlers: [Products, Plans, PlanMoves, PlanList, Checkouts],
};
