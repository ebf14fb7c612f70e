import { events } from '@recur/contracts';
import { joined, type ServiceDefinition } from '@recur/platform';
import { collectionWing } from './collection/wing.js';
import { type Config, config } from './config.js';
import { creditsWing } from './credits/wing.js';
import { copiesWith } from './customers/copies.js';
import { customersWing } from './customers/wing.js';
import { discountsWing } from './discounts/wing.js';
import { documentsWing } from './documents/wing.js';
import { preferNamed } from './gateways/payment-methods.js';
import { gatewaysWing } from './gateways/wing.js';
import { invoicesWing } from './invoices/wing.js';
import { migrations } from './migrations/index.js';
import { portalWing } from './portal/wing.js';
import { refundsWing } from './refunds/wing.js';
import { searchWing } from './search/key-search.js';
import { pricesArrive } from './subscriptions/prices/walk.js';
import { subscriptionsWing } from './subscriptions/wing.js';
import { tasksWing } from './tasks/wing.js';
import { taxWing } from './tax/wing.js';
import { testClockWing } from './test-clock/wing.js';
import { usage } from './usage/command.js';
import { usageWing } from './usage/wing.js';

const { tables, ...wings } = joined([
  customersWing,
  gatewaysWing,
  creditsWing,
  discountsWing,
  taxWing,
  documentsWing,
  usageWing,
  invoicesWing,
  refundsWing,
  collectionWing,
  subscriptionsWing,
  searchWing,
  tasksWing,
  portalWing,
  testClockWing,
]);

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: { tables, migrations, worksFrom: 5 },
  events,
  copies: copiesWith({ users: preferNamed, plans: pricesArrive }),
  ...wings,
  commands: { usage },
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = [
  'expiries',
  'user_copies_search',
  'mails_search',
  'gateway_routes',
  'gateway_facts',
  'invoice_links',
];
