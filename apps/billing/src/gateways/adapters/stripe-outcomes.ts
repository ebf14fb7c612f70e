import Stripe from 'stripe';
import type { Outcome, SavedMethod } from './adapter.js';
import { moneyOf } from './stripe-amounts.js';

/** Decline codes after which the card never works again: https://docs.stripe.com/declines/codes */
const hard = new Set([
  'lost_card',
  'stolen_card',
  'pickup_card',
  'restricted_card',
  'expired_card',
  'invalid_account',
  'account_closed',
  'fraudulent',
  'merchant_blacklist',
  'revocation_of_all_authorizations',
  'security_violation',
  'card_not_supported',
  'currency_not_supported',
  'invalid_number',
  'no_such_card',
]);

const declined = (reason: string, reference: string): Outcome => ({
  is: 'declined',
  kind: hard.has(reason) ? 'hard' : 'soft',
  reason,
  reference,
});

/** Success without an amount in a known currency is none: the gateway is asked again. */
function withMoney(is: 'succeeded' | 'authorised', reference: string, amount: number, currency: string): Outcome {
  const money = moneyOf(amount, currency);
  return money ? { is, reference, amount: money.amount, currency: money.currency } : { is: 'unknown', reference };
}

/** The outcome that a payment intent reports. */
export function outcomeOf(intent: Stripe.PaymentIntent): Outcome {
  const { id: reference, last_payment_error: error } = intent;
  switch (intent.status) {
    case 'succeeded':
      return withMoney('succeeded', reference, intent.amount_received, intent.currency);
    case 'requires_capture':
      return withMoney('authorised', reference, intent.amount_capturable, intent.currency);
    case 'requires_action':
      return { is: 'needsAction', link: intent.next_action?.redirect_to_url?.url ?? '', reference };
    case 'canceled':
      return { is: 'cancelled', reference };
    case 'requires_payment_method':
      if (error?.code === 'authentication_required') return { is: 'needsAction', link: '', reference };
      return declined(error?.decline_code ?? error?.code ?? 'no_payment_method', reference);
    default:
      return { is: 'unknown', reference };
  }
}

export function outcomeOfRefund({ id: reference, status, failure_reason, amount, currency }: Stripe.Refund): Outcome {
  if (status === 'succeeded') return withMoney('succeeded', reference, amount, currency);
  if (status === 'canceled') return { is: 'cancelled', reference };
  if (status === 'failed') {
    return { is: 'declined', kind: 'hard', reason: failure_reason ?? 'refund_failed', reference };
  }
  return { is: 'unknown', reference };
}

/** The outcome behind an error of the client; no answer, or Stripe's own failure, leaves the outcome unknown. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  const reference = error.payment_intent?.id ?? '';
  if (error instanceof Stripe.errors.StripeCardError) {
    if (error.code === 'authentication_required') return { is: 'needsAction', link: '', reference };
    return declined(error.decline_code ?? error.code ?? 'card_declined', reference);
  }
  const isRefused =
    error instanceof Stripe.errors.StripeInvalidRequestError ||
    error instanceof Stripe.errors.StripeAuthenticationError ||
    error instanceof Stripe.errors.StripePermissionError;
  return isRefused ? declined(error.code ?? error.type, reference) : { is: 'unknown', reference };
}

export function savedMethod({ id, type, card }: Stripe.PaymentMethod): SavedMethod {
  const data = card ? { brand: card.brand, last4: card.last4, expMonth: card.exp_month, expYear: card.exp_year } : {};
  return { gatewayMethodId: id, type, data };
}
