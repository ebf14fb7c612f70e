/**
 * Where an input is stricter than the wire contract's bare type, and why. The list is complete: a test compares it
 * with the schemas. `section` is that of the semantics which the API's docs state.
 */
export interface Deviation {
  /** The operations that have the field, by name. */
  operations: readonly string[];
  /** `lines[].quantity` is a field of a list's entry; '' is the whole input; '*' is every field of every input. */
  field: string;
  /** The JSON Schema keywords that say it; `required`; `type`; and `x-rule` for what JSON Schema cannot say. */
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

const notBlank = 'A required text that is blank is a missing parameter';
const requiredThere = 'Required: userId, currency, taxPercentage and lines';

export const deviations: readonly Deviation[] = [
  stricter(
    2,
    '*',
    '*',
    'maxLength maxItems',
    'Every text and list is bounded: texts at 2000 characters (prose at 10000, names of invoices at 500, external ids at 255), lists at 1000 entries. Every text must be storable: valid Unicode without NUL',
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
    'A page has at most 100 entries',
  ),
  stricter(
    2,
    'member.operation_log_list user.admin_note_list',
    '',
    'x-rule',
    '(page + 1) × count ≤ 10000: beyond it the time range is to be narrowed',
  ),

  stricter(
    1,
    'invoice.new currency.exchange gateway.wire_transfer_setup',
    'currency',
    'x-rule',
    'Amounts are in the minor unit of the currency, so it must be one of ISO 4217',
  ),

  stricter(3, 'auth.oauth_setup', 'newPassword', 'minLength maxLength', 'A password has 8 to 128 characters'),

  stricter(
    4,
    'session.new_session',
    'email',
    'x-rule',
    'A user is created with it and found by it, so it must be an e-mail address',
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
    'Nothing given that names the user: refused',
  ),

  stricter(5, 'plan.activate', '', 'x-rule', 'Neither planId nor externalPlanId: refused'),
  stricter(5, 'product.edit', 'productName', 'x-rule', 'A blank productName is refused'),
  stricter(5, 'product.edit', 'status', 'enum', 'status is 1 or 2'),
  stricter(
    5,
    'product.edit',
    'metadata',
    'x-rule',
    'It comes back as a JSON text, so it must be storable and of bounded depth',
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

  stricter(6, 'invoice.new', 'lines[]', 'x-rule', "Only the price of a plan replaces a line's own"),
  stricter(6, 'invoice.new', 'applyPromoCreditAmount', 'minimum', 'It is a cap in credits; a cap below 0 is a mistake'),
  stricter(
    6,
    'gateway.wire_transfer_setup',
    'minimumAmount',
    'minimum',
    'Totals are compared with it, and are never negative',
  ),
  stricter(6, 'gateway.wire_transfer_setup', 'sort', 'minimum maximum', 'A rank, not a number to compute with: ±10⁹'),
  stricter(6, 'gateway.wire_transfer_setup', 'gatewayIcons[]', 'type', 'An array of texts, or of arrays of texts'),
  stricter(
    6,
    'gateway.wire_transfer_setup',
    'bank',
    'x-rule',
    'An object or the JSON text of one, with accountHolder and address; anything else is refused',
  ),
  stricter(6, 'vat.us_vat_validate_address', 'address.countryCode', 'required x-rule', 'countryCode must be US'),

  stricter(7, 'subscription.add_new_trial_start', 'appendTrialEndHour', 'minimum maximum', '1..87600 hours'),

  stricter(
    8,
    'webhook.update_endpoint',
    'url',
    'x-rule',
    'url is http(s); what it may point to is checked when it is saved and at every connection',
  ),
  stricter(8, 'webhook.update_endpoint', 'events[]', 'enum', 'An unknown event name is refused by name'),
  stricter(8, 'webhook.automation_oauth_url', 'returnUrl', 'x-rule', 'returnUrl must be http(s)'),
];
