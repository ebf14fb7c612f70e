/**
 * An input field that is stricter than the wire contract's bare type, and the reason. The list is complete: a test
 * compares it with the schemas. `section` refers to the specification of the API's semantics.
 */
export interface Deviation {
  /** Names of the operations with the field. */
  operations: readonly string[];
  /** `lines[].quantity` is a field of a list's entry; '' is the whole input; '*' is every field of every input. */
  field: string;
  /** JSON Schema keywords that the input adds, with `required`, `type`, and `x-rule` for rules outside JSON Schema. */
  adds: readonly string[];
  section: number;
  why: string;
}

const stricter = (section: number, operations: string, field: string, adds: string, why: string): Deviation => ({
  operations: operations.split(' '),
  field,
  adds: adds.split(' '),
  section,
  why,
});

const notBlank = 'A blank required text is a missing parameter';
const requiredThere = 'Required: userId, currency, taxPercentage and lines';

export const deviations: readonly Deviation[] = [
  stricter(
    2,
    '*',
    '*',
    'maxLength maxItems',
    'Every text and list is bounded: texts to 2000 characters (prose 10000, invoice names 500, external ids 255), lists to 1000 entries. Every text must be storable: valid Unicode without NUL',
  ),
  stricter(2, 'auth.oauth_login auth.oauth_setup', 'email', 'x-rule', notBlank),
  stricter(2, 'auth.oauth_setup', 'setupToken', 'x-rule', notBlank),
  stricter(2, 'invoice.delete invoice.clear_payment metric.history_by_invoice', 'invoiceId', 'x-rule', notBlank),
  stricter(2, 'payment.cancel', 'paymentId', 'x-rule', notBlank),
  stricter(2, 'subscription.add_new_trial_start', 'subscriptionId', 'x-rule', notBlank),
  stricter(2, 'member.operation_log_list user.admin_note_list', 'page', 'minimum', 'Pages count from 0'),
  stricter(
    2,
    'member.operation_log_list user.admin_note_list',
    'count',
    'minimum maximum',
    'A page has at most 1000 entries',
  ),
  stricter(
    2,
    'member.operation_log_list user.admin_note_list',
    '',
    'x-rule',
    '(page + 1) × count ≤ 10000; beyond it, narrow the time range',
  ),

  stricter(
    1,
    'invoice.new currency.exchange gateway.wire_transfer_setup',
    'currency',
    'x-rule',
    'Amounts are in the minor unit of the currency, which ISO 4217 defines',
  ),

  stricter(3, 'auth.oauth_setup', 'newPassword', 'minLength maxLength', 'A password has 8 to 128 characters'),

  stricter(
    4,
    'session.new_session',
    'email',
    'x-rule',
    'Users are created and found by it, so it must be an e-mail address',
  ),
  stricter(
    4,
    'session.new_session session.user_sub_update_url session.customer_portal_url',
    'returnUrl',
    'x-rule',
    'returnUrl must be an http(s) URL',
  ),
  stricter(
    4,
    'session.new_session session.user_sub_update_url session.customer_portal_url',
    'cancelUrl',
    'x-rule',
    'cancelUrl must be an http(s) URL',
  ),
  stricter(
    4,
    'session.user_sub_update_url session.customer_portal_url',
    '',
    'x-rule',
    'The input must identify the user',
  ),

  stricter(5, 'plan.activate', '', 'x-rule', 'planId or externalPlanId is required'),
  stricter(5, 'product.edit', 'productName', 'x-rule', 'A blank productName is refused'),
  stricter(5, 'product.edit', 'status', 'enum', 'status is 1 or 2'),
  ...['homeUrl', 'imageUrl'].map(field =>
    stricter(5, 'product.edit', field, 'x-rule', 'Pages may show it, so it must be an http(s) URL, or blank'),
  ),
  stricter(
    5,
    'product.edit',
    'metadata',
    'x-rule',
    'It is returned as JSON text, so it must be storable and of bounded depth',
  ),

  stricter(6, 'invoice.new', 'userId', 'required', requiredThere),
  stricter(6, 'invoice.new', 'currency', 'required', requiredThere),
  stricter(
    6,
    'invoice.new',
    'taxPercentage',
    'required type minimum maximum',
    'Required, 0..10000; percentages are integers (section 1)',
  ),
  stricter(6, 'invoice.new', 'lines', 'required minItems maxItems', 'Required, 1..500 entries'),
  stricter(6, 'invoice.new', 'lines[].quantity', 'minimum maximum', 'quantity 1..1000000'),

  stricter(1, 'invoice.new', 'lines[].unitAmountExcludingTax', 'minimum maximum', '|unit amount| ≤ 10¹²'),

  stricter(6, 'invoice.new', 'lines[]', 'x-rule', 'A line without a plan needs its own price'),
  stricter(6, 'invoice.new', 'applyPromoCreditAmount', 'minimum', 'A cap in credits; it cannot be negative'),
  stricter(
    6,
    'gateway.wire_transfer_setup',
    'minimumAmount',
    'minimum',
    'Compared with invoice totals, which are never negative',
  ),
  stricter(6, 'gateway.wire_transfer_setup', 'sort', 'minimum maximum', 'A sort rank within ±10⁹'),
  stricter(
    6,
    'gateway.wire_transfer_setup',
    'gatewayIcons[]',
    'type',
    'An array of http(s) URLs, since pages show them, or of arrays of them',
  ),
  stricter(
    6,
    'gateway.wire_transfer_setup',
    'bank',
    'x-rule',
    'An object with accountHolder and address, or its JSON text',
  ),
  stricter(6, 'vat.us_vat_validate_address', 'address.countryCode', 'required x-rule', 'countryCode must be US'),

  stricter(7, 'subscription.add_new_trial_start', 'appendTrialEndHour', 'minimum maximum', '1..87600 hours'),

  stricter(
    8,
    'webhook.update_endpoint',
    'url',
    'x-rule',
    'url is http(s); its target is checked when it is saved and at every connection',
  ),
  stricter(8, 'webhook.update_endpoint', 'events[]', 'enum', 'Unknown event names are refused and named'),
  stricter(8, 'webhook.automation_oauth_url', 'returnUrl', 'x-rule', 'returnUrl must be http(s)'),
];
