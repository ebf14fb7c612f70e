import * as addresses from './billing/addresses.js';
import * as creditNotes from './billing/credit-notes.js';
import * as credits from './billing/credits/credits.js';
import * as creditRecharges from './billing/credits/recharges.js';
import * as discountBatches from './billing/discount-batches.js';
import * as discounts from './billing/discounts.js';
import * as emails from './billing/emails.js';
import * as gateways from './billing/gateways.js';
import * as invoices from './billing/invoices/invoices.js';
import * as paymentMethods from './billing/payment-methods.js';
import { setupGatewayWebhook } from './billing/payments/callbacks.js';
import * as paymentTimeline from './billing/payments/timeline.js';
import * as payments from './billing/payments.js';
import * as refunds from './billing/refunds.js';
import * as search from './billing/search.js';
import * as onetimeAddons from './billing/subscriptions/addons.js';
import * as subscriptionChanges from './billing/subscriptions/changes.js';
import * as subscriptionConfig from './billing/subscriptions/config.js';
import * as subscriptionCreate from './billing/subscriptions/create.js';
import * as subscriptionEndings from './billing/subscriptions/endings.js';
import * as nextInvoice from './billing/subscriptions/next-invoice.js';
import * as subscriptionNotes from './billing/subscriptions/notes.js';
import * as subscriptionReads from './billing/subscriptions/reads.js';
import * as subscriptionRunning from './billing/subscriptions/running.js';
import * as tasks from './billing/tasks/tasks.js';
import * as taxes from './billing/taxes.js';
import * as testClock from './billing/test-clock.js';
import * as usageEvents from './billing/usage/events.js';
import * as usage from './billing/usage/limits.js';
import * as usageMetrics from './billing/usage/metrics.js';
import * as checkouts from './catalog/checkouts.js';
import * as exchange from './catalog/exchange.js';
import * as metrics from './catalog/metrics.js';
import * as planLimits from './catalog/plan-limits.js';
import * as plans from './catalog/plans.js';
import * as priceChanges from './catalog/price-changes.js';
import * as products from './catalog/products.js';
import * as adminNotes from './identity/admin-notes.js';
import * as apiKeys from './identity/api-keys.js';
import * as authProviders from './identity/auth-providers.js';
import * as mailedCodes from './identity/mailed-codes.js';
import * as members from './identity/members.js';
import * as merchants from './identity/merchants.js';
import * as operationLog from './identity/operation-log.js';
import * as roles from './identity/roles.js';
import * as sessions from './identity/sessions.js';
import * as signIn from './identity/sign-in.js';
import * as system from './identity/system.js';
import * as totp from './identity/totp.js';
import * as users from './identity/users.js';
import * as connections from './notification/connections.js';
import * as deliveries from './notification/deliveries.js';
import * as endpoints from './notification/endpoints.js';
import * as replays from './notification/replays.js';
import type { Operation } from './operation.js';
import * as portalAccount from './portal/account.js';
import * as portalInvoices from './portal/invoices.js';
import * as portalMoney from './portal/money.js';
import * as portalPaying from './portal/paying.js';
import * as portalPlans from './portal/plans.js';
import * as portalSession from './portal/session.js';
import * as portalSubscriptions from './portal/subscriptions.js';

const isOperation = (value: object): value is Operation => 'service' in value && 'path' in value;

/** Every operation, ordered by service; the modules also export shapes. */
export const operations: readonly Operation[] = [
  signIn,
  mailedCodes,
  authProviders,
  totp,
  sessions,
  merchants,
  apiKeys,
  members,
  roles,
  operationLog,
  users,
  adminNotes,
  system,
  portalSession,
  portalAccount,
  portalPlans,
  portalSubscriptions,
  portalInvoices,
  portalPaying,
  portalMoney,
  products,
  plans,
  priceChanges,
  checkouts,
  metrics,
  planLimits,
  exchange,
  gateways,
  { setupGatewayWebhook },
  invoices,
  emails,
  creditNotes,
  payments,
  paymentTimeline,
  paymentMethods,
  refunds,
  search,
  tasks,
  credits,
  creditRecharges,
  discounts,
  discountBatches,
  subscriptionCreate,
  subscriptionReads,
  subscriptionChanges,
  subscriptionEndings,
  subscriptionRunning,
  nextInvoice,
  onetimeAddons,
  subscriptionNotes,
  subscriptionConfig,
  testClock,
  usage,
  usageEvents,
  usageMetrics,
  taxes,
  addresses,
  endpoints,
  deliveries,
  replays,
  connections,
].flatMap(resource => Object.values<object>(resource).filter(isOperation));
