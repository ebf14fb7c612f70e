import * as billing from './billing.js';
import * as catalog from './catalog.js';
import * as identity from './identity.js';
import * as notification from './notification.js';
import type { Operation } from './operation.js';

/** Every operation, service by service. */
export const operations: readonly Operation[] = [identity, catalog, billing, notification].flatMap(service =>
  Object.values<Operation>(service),
);

/** The names of those that have no handler yet: neither routed nor in the OpenAPI. It only shrinks. */
export const planned: readonly string[] = [
  'auth.oauth_login',
  'auth.oauth_setup',
  'session.new_session',
  'session.user_sub_update_url',
  'session.customer_portal_url',
  'user.admin_note_list',
  'user.count',
  'product.edit',
  'metric.delete',
  'checkout.list',
  'currency.exchange',
  'invoice.delete',
  'invoice.clear_payment',
  'payment.cancel',
  'credit.detail',
  'vat.us_vat_validate_address',
  'subscription.add_new_trial_start',
  'subscription.preview_next_invoice',
  'metric.history_by_invoice',
  'webhook.update_endpoint',
  'webhook.automation_oauth_url',
];

/** What is served. */
export const routed: readonly Operation[] = operations.filter(({ name }) => !planned.includes(name));
