/** How a failure looks at the edge. `message` is the default text; a rejection may say it more precisely. */
export interface ErrorKind {
  code: number;
  http: number;
  /** The same request may succeed later without a change. */
  retryable: boolean;
  message: string;
}

const kind = (code: number, http: number, message: string, retryable = false): ErrorKind => ({
  code,
  http,
  retryable,
  message,
});

/** An object that does not exist, or is another merchant's: the answer is the same. */
const notFound = (what: string) => kind(53, 404, `No such ${what}`);
/** The state of an object forbids the move; a rejection names the state and the move. */
const forbidden = (message: string) => kind(52, 400, message);

/** Every error that recur answers, once: slug (`error.type` on the wire) → code, HTTP status and default message. */
export const errors = {
  internal_error: kind(50, 500, 'Something went wrong on our side; quote the requestId to support'),
  invalid_parameters: kind(51, 400, 'Some parameters are missing or invalid'),
  malformed_json: kind(51, 400, 'The body is not valid JSON'),
  body_too_large: kind(51, 400, 'The body is larger than 1 MiB'),
  answer_too_large: kind(51, 400, 'The answer would be too large: ask for fewer entries at once (count)'),
  unsupported_media_type: kind(51, 400, 'Send the body as application/json'),
  unknown_path: kind(53, 404, 'No such path'),
  idempotency_in_use: kind(54, 409, 'A request with this Idempotency-Key is still running', true),
  idempotency_reused: kind(54, 422, 'This Idempotency-Key was used with another request'),
  rate_limited: kind(55, 429, 'Too many requests', true),
  dependency_away: kind(56, 503, 'A service that this needs is away; try again', true),
  deadline_exceeded: kind(
    56,
    503,
    'The deadline passed before the answer came: the outcome is unknown; repeat with the same Idempotency-Key',
    true,
  ),
  overloaded: kind(56, 503, 'Too much is being asked at once; try again', true),
  credential_invalid: kind(61, 401, 'The credential is missing or not valid'),
  permissions_changed: kind(62, 401, 'Your permissions changed: sign in again'),
  permission_denied: kind(63, 403, 'This credential may not do that'),

  totp_required: kind(49, 400, 'A two-factor code is needed, or the one sent was wrong'),
  totp_locked: kind(49, 400, 'Too many wrong two-factor codes: wait 15 minutes', true),

  user_not_found: notFound('user'),
  product_not_found: notFound('product'),
  plan_not_found: notFound('plan'),
  metric_not_found: notFound('metric'),
  checkout_not_found: notFound('checkout template'),
  plan_limit_not_found: notFound('limit of a plan'),
  exchange_rate_not_found: notFound('exchange rate'),
  gateway_not_found: notFound('gateway'),
  invoice_not_found: notFound('invoice'),
  payment_not_found: notFound('payment'),
  subscription_not_found: notFound('subscription'),
  credit_account_not_found: notFound('credit account'),
  endpoint_not_found: notFound('webhook endpoint'),
  member_not_found: notFound('member'),
  auth_provider_not_found: notFound('identity provider'),
  oauth_account_not_found: notFound('linked account'),
  device_not_found: notFound('device'),
  role_not_found: notFound('role'),
  api_key_not_found: notFound('API key'),
  log_not_found: notFound('entry of a webhook log'),
  replay_not_found: notFound('replay'),
  connection_not_found: notFound('automation connection'),

  user_inactive: forbidden('The user is suspended'),
  product_not_deletable: forbidden('The product has plans that may be sold, or is the default one'),
  plan_not_archivable: forbidden('Only a plan that was activated can be archived; for good is for ever'),
  plan_not_deletable: forbidden('Only a plan that was never activated and is no add-on of another can be deleted'),
  checkout_archived: forbidden('The checkout template is archived'),
  too_many_checkouts: forbidden(
    'The merchant has 50 checkout templates that are not archived, and cannot have one more',
  ),
  plan_not_activatable: forbidden(
    'The plan is not in a state from which it can be activated, or lacks what that needs',
  ),
  plan_frozen: forbidden('The plan has been activated: its price, currency and interval stay as they are'),
  plan_not_active: forbidden('The plan is not active'),
  metric_in_use: forbidden('An active plan uses the metric'),
  gateway_exists: forbidden('This gateway is set up already; an archived one counts too'),
  gateway_archived: forbidden('The gateway is archived'),
  gateway_not_wire_transfer: forbidden('The gateway of the invoice is not a wire transfer'),
  amount_below_minimum: forbidden('The amount is below the minimum of the gateway'),
  currency_mismatch: forbidden('The currency is not the one of the gateway'),
  invoice_not_draft: forbidden('The invoice is not a draft'),
  invoice_not_open: forbidden('The invoice is not open'),
  invoice_without_payment: forbidden('The invoice has no current payment'),
  invoice_without_subscription: forbidden('The invoice belongs to no subscription'),
  payment_not_open: forbidden('The payment is not open'),
  payment_exists: forbidden('The invoice has a payment already'),
  subscription_not_extendable: forbidden('The subscription is in a state that takes no trial time'),
  subscription_without_next_invoice: forbidden('The subscription ends: there is no next invoice'),
  totp_on: forbidden('Two-factor codes are on: turn them off with a code first'),
  totp_protected: forbidden(
    'A member turns the own two-factor codes off with a code; those of the owner, an API key does',
  ),
  totp_not_asked: forbidden('There is no key to confirm: ask for one first'),
  oauth_account_taken: forbidden('The identity is linked to another member'),
  last_way_in: forbidden('The account has no password: without this identity nobody could sign in to it'),
  too_many_auth_providers: forbidden('The merchant has 20 identity providers, and cannot have one more'),
  too_many_endpoints: forbidden('The merchant has 100 webhook endpoints, and cannot have one more'),
  role_in_use: forbidden('Members have the role: take it from them first'),
  too_many_roles: forbidden('The merchant has 100 roles, and cannot have one more'),
  owner_protected: forbidden('The owner is always active and may do everything'),
  self_suspension: forbidden('Nobody can suspend themselves'),
  own_api_key: forbidden('An API key cannot revoke itself: use the one that replaces it'),
  too_many_api_keys: forbidden(
    'The merchant has 20 API keys that hold: revoke one of them first; or it has had 100 within 24 hours',
  ),
  endpoint_disabled: forbidden('The webhook endpoint is disabled: update_endpoint puts it into service again'),
  event_not_kept: forbidden('The event is too old: it is not kept any more'),
  replay_running: forbidden('A replay to this webhook endpoint is under way: let it end, or cancel it'),
  too_many_connections: forbidden('The merchant has 20 automation connections, and cannot have one more'),
} as const satisfies Record<string, ErrorKind>;

export type Slug = keyof typeof errors;

declare global {
  /** Types the slugs of kernel's `Rejected`. */
  interface ErrorSlugs extends Record<Slug, true> {}
}

/** What any operation may answer, whatever its own list says. */
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
