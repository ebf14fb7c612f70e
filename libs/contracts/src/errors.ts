/** An error as clients see it. `message` is the default text; a rejection may carry a more specific one. */
export interface ErrorKind {
  code: number;
  http: number;
  /** The same request may succeed later, unchanged. */
  retryable: boolean;
  message: string;
}

const kind = (code: number, http: number, message: string, retryable = false): ErrorKind => ({
  code,
  http,
  retryable,
  message,
});

/** An object that does not exist or belongs to another merchant: both get the same answer. */
const notFound = (what: string) => kind(53, 404, `No such ${what}`);
/** A move that the object's state forbids; a rejection names both. */
const forbidden = (message: string) => kind(52, 400, message);

/** The registry of errors: slug (`error.type` on the wire) → code, HTTP status and default message. */
export const errors = {
  internal_error: kind(50, 500, 'An unexpected error occurred; quote the requestId to support'),
  invalid_parameters: kind(51, 400, 'Some parameters are missing or invalid'),
  malformed_json: kind(51, 400, 'The body is not valid JSON'),
  body_too_large: kind(51, 413, 'The body is larger than 1 MiB'),
  answer_too_large: kind(51, 400, 'The response would be too large: request fewer entries per page (count)'),
  unsupported_media_type: kind(51, 415, 'The body must be sent as application/json'),
  unknown_path: kind(53, 404, 'No such path'),
  method_not_allowed: kind(53, 405, 'The path does not take this method'),
  idempotency_in_use: kind(54, 409, 'A request with this Idempotency-Key is still in progress', true),
  idempotency_reused: kind(54, 422, 'This Idempotency-Key was used with a different request'),
  rate_limited: kind(55, 429, 'Too many requests', true),
  dependency_away: kind(56, 503, 'A required service is unavailable; try again', true),
  deadline_exceeded: kind(
    56,
    503,
    'The request timed out: the outcome is unknown; repeat it with the same Idempotency-Key',
    true,
  ),
  overloaded: kind(56, 503, 'The service is overloaded; try again', true),
  credential_invalid: kind(61, 401, 'The credential is missing or invalid'),
  permissions_changed: kind(62, 401, 'Your permissions have changed: sign in again'),
  permission_denied: kind(63, 403, 'This credential does not permit the operation'),

  totp_required: kind(49, 400, 'A two-factor code is required, or the one sent is wrong'),
  totp_locked: kind(49, 400, 'Too many wrong two-factor codes: try again in 15 minutes', true),

  user_not_found: notFound('user'),
  product_not_found: notFound('product'),
  plan_not_found: notFound('plan'),
  metric_not_found: notFound('metric'),
  usage_event_not_found: notFound('usage event'),
  checkout_not_found: notFound('checkout template'),
  template_not_found: notFound('template'),
  export_not_found: notFound('exported file'),
  plan_limit_not_found: notFound('plan limit'),
  exchange_rate_not_found: notFound('exchange rate'),
  gateway_not_found: notFound('gateway'),
  invoice_not_found: notFound('invoice'),
  payment_not_found: notFound('payment'),
  payment_method_not_found: notFound('payment method'),
  refund_not_found: notFound('refund'),
  subscription_not_found: notFound('subscription'),
  pending_update_not_found: notFound('pending update'),
  credit_account_not_found: notFound('credit account'),
  credit_config_not_found: notFound('credit config'),
  discount_not_found: notFound('discount'),
  endpoint_not_found: notFound('webhook endpoint'),
  member_not_found: notFound('member'),
  auth_provider_not_found: notFound('identity provider'),
  oauth_account_not_found: notFound('linked account'),
  device_not_found: notFound('device'),
  role_not_found: notFound('role'),
  api_key_not_found: notFound('API key'),
  log_not_found: notFound('webhook log entry'),
  replay_not_found: notFound('replay'),
  connection_not_found: notFound('automation connection'),

  client_session_used: forbidden('The link has been used: each opens the pages once. Request a new one'),
  client_session_expired: forbidden('The link is unknown or has expired: request a new one'),
  user_inactive: forbidden('The user is suspended'),
  product_not_deletable: forbidden('The product is the default one or has plans that can still be sold'),
  plan_not_archivable: forbidden('Only activated plans can be archived; a hard archive cannot be undone'),
  plan_not_deletable: forbidden(
    'Only a plan that was never activated and is not an add-on of another plan can be deleted',
  ),
  checkout_archived: forbidden('The checkout template is archived'),
  too_many_checkouts: forbidden(
    'The merchant has reached the limit of 50 checkout templates, archived ones not counted',
  ),
  plan_not_activatable: forbidden(
    'The plan is not in a state that can be activated, or is missing something that activation requires',
  ),
  plan_frozen: forbidden('The plan has been activated: its price, currency and interval cannot be changed'),
  plan_not_active: forbidden('The plan is not active'),
  metric_in_use: forbidden('The metric is used by an active plan'),
  metric_without_limit: forbidden('The metric is not a limit'),
  usage_not_subscribed: forbidden('No subscription of the user takes usage at that time'),
  usage_period_invoiced: forbidden('The period of the event is invoiced, and takes no more changes'),
  usage_limit_exceeded: forbidden('The event exceeds the limit of the metric'),
  usage_event_deleted: forbidden('An invoiced event of this externalEventId was deleted: the id cannot be used again'),
  limit_below_usage: forbidden('The limit cannot be lowered below what is used'),
  gateway_exists: forbidden('This gateway is already set up, or was and is archived'),
  gateway_archived: forbidden('The gateway is archived'),
  gateway_without_webhook: forbidden('The gateway sends no webhooks'),
  gateway_without_methods: forbidden('The gateway does not save payment methods'),
  gateway_not_wire_transfer: forbidden('The gateway of the invoice is not a wire-transfer gateway'),
  amount_below_minimum: forbidden('The amount is below the minimum of the gateway'),
  currency_mismatch: forbidden('The currency differs from that of the gateway'),
  credit_config_exists: forbidden('There is a credit config of this type and currency'),
  credit_insufficient: forbidden('The credit account holds less than that'),
  credit_recharge_disabled: forbidden('Credit accounts of this kind cannot be recharged'),
  discount_wrong_state: forbidden('The discount is in a state that does not allow this'),
  discount_frozen: forbidden(
    'The discount has been activated: its size, currency, billing type and cycles cannot be changed',
  ),
  discount_unlimited: forbidden('The discount has no limit on its uses'),
  invoice_is_draft: forbidden('The invoice is a draft: finish it first'),
  invoice_not_draft: forbidden('The invoice is not a draft'),
  invoice_not_open: forbidden('The invoice is not open'),
  invoice_without_payment: forbidden('The invoice has no current payment'),
  invoice_without_subscription: forbidden('The invoice does not belong to a subscription'),
  payment_not_open: forbidden('The payment is not open'),
  payment_not_authorised: forbidden('The payment is not authorised: there is nothing to capture'),
  too_many_payment_methods: forbidden('The user has reached the limit of 50 payment methods at the gateway'),
  too_many_tasks: forbidden('The merchant has 20 tasks that are not done: wait until one is'),
  too_many_templates: forbidden('The merchant has reached the limit of 1000 templates'),
  invoice_not_refundable: forbidden('Only a paid invoice can be refunded'),
  payment_disputed: forbidden('The payment is disputed: it cannot be refunded until that is decided'),
  refund_not_open: forbidden('The refund is not open'),
  payment_exists: forbidden('The invoice already has a payment'),
  payment_under_way: forbidden('A payment is under way: its outcome decides what can be done'),
  subscription_exists: forbidden('The user already has a subscription to this product'),
  subscription_wrong_state: forbidden('The subscription is in a state that does not allow this'),
  subscription_not_parked: forbidden('The subscription is not parked'),
  total_changed: forbidden('The total has changed: preview it again'),
  subscription_not_extendable: forbidden('The subscription is in a state that cannot be extended by trial time'),
  subscription_without_next_invoice: forbidden(
    'The subscription has ended or is about to end: there is no next invoice',
  ),
  clock_advancing: forbidden('The clock is still advancing: wait until it is ready'),
  totp_on: forbidden('Two-factor authentication is already on: turn it off with a code first'),
  totp_protected: forbidden(
    "Turn off your own two-factor authentication with a code; the owner's can only be cleared with an API key",
  ),
  totp_not_asked: forbidden('There is no key to confirm: request one first'),
  oauth_account_taken: forbidden('The identity is linked to another member'),
  last_way_in: forbidden('The account has no password: without this identity it could not be signed in to'),
  too_many_auth_providers: forbidden('The merchant has reached the limit of 20 identity providers'),
  too_many_endpoints: forbidden('The merchant has reached the limit of 100 webhook endpoints'),
  role_in_use: forbidden('The role is assigned to members: remove it from them first'),
  too_many_roles: forbidden('The merchant has reached the limit of 100 roles'),
  owner_protected: forbidden('The owner is always active and has every permission'),
  self_suspension: forbidden('You cannot suspend yourself'),
  mail_not_configured: forbidden('No mail server is configured (SMTP_URL): codes cannot be sent'),
  own_api_key: forbidden('An API key cannot revoke itself: use the key that replaces it'),
  too_many_api_keys: forbidden(
    'The merchant has 20 valid API keys (revoke one first), or has created 100 within 24 hours',
  ),
  endpoint_disabled: forbidden('The webhook endpoint is disabled: enable it with update_endpoint'),
  event_not_kept: forbidden('The event is too old and no longer stored'),
  replay_running: forbidden('A replay to this webhook endpoint is already running: wait for it to finish or cancel it'),
  too_many_connections: forbidden('The merchant has reached the limit of 20 automation connections'),
} as const satisfies Record<string, ErrorKind>;

export type Slug = keyof typeof errors;

declare global {
  /** Types the slugs of kernel's `Rejected`. */
  interface ErrorSlugs extends Record<Slug, true> {}
}

/** Errors that every operation can answer, in addition to its own. */
export const commonErrors: readonly Slug[] = [
  'internal_error',
  'invalid_parameters',
  'malformed_json',
  'body_too_large',
  'answer_too_large',
  'unsupported_media_type',
  'idempotency_in_use',
  'idempotency_reused',
  'rate_limited',
  'dependency_away',
  'deadline_exceeded',
  'overloaded',
  'credential_invalid',
  'permissions_changed',
  'permission_denied',
];
