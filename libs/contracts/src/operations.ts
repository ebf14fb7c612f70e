import * as billing from './billing.js';
import * as catalog from './catalog.js';
import * as identity from './identity.js';
import * as invoices from './invoices.js';
import * as notification from './notification.js';
import type { Operation } from './operation.js';
import * as payments from './payments.js';
import * as redelivery from './redelivery.js';
import * as users from './users.js';

/** Every operation, service by service. */
export const operations: readonly Operation[] = [
  identity,
  users,
  catalog,
  billing,
  invoices,
  payments,
  notification,
  redelivery,
].flatMap(service => Object.values<Operation>(service));

/** The names of those that have no handler yet: neither routed nor in the OpenAPI. It only shrinks. */
export const planned: readonly string[] = [
  'auth.oauth_login',
  'auth.oauth_setup',
  'session.user_sub_update_url',
  'session.customer_portal_url',
  'user.admin_note_list',
  'metric.delete',
  'checkout.list',
  'currency.exchange',
  'credit.detail',
  'vat.us_vat_validate_address',
  'subscription.add_new_trial_start',
  'subscription.preview_next_invoice',
  'metric.history_by_invoice',
];

/** What is served. */
export const routed: readonly Operation[] = operations.filter(({ name }) => !planned.includes(name));
