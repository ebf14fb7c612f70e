import { currencies, exponentOf } from '@recur/contracts';
import Stripe from 'stripe';
import { z } from 'zod';
import type { GatewayEvent, GatewayOutcome, SavedMethod } from './adapter.js';

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

const declined = (reason: string, reference: string): GatewayOutcome => ({
  is: 'declined',
  kind: hard.has(reason) ? 'hard' : 'soft',
  reason,
  reference,
});

/** Success without an amount in a known currency is none: the gateway is asked again. */
function withMoney(
  is: 'succeeded' | 'authorised',
  reference: string,
  amount: number,
  currency: string,
): GatewayOutcome {
  const money = moneyOf(amount, currency);
  return money ? { is, reference, amount: money.amount, currency: money.currency } : { is: 'unknown', reference };
}

/** The outcome that a payment intent reports. */
export function outcomeOf(intent: Stripe.PaymentIntent): GatewayOutcome {
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

export function outcomeOfRefund({
  id: reference,
  status,
  failure_reason,
  amount,
  currency,
}: Stripe.Refund): GatewayOutcome {
  if (status === 'succeeded') return withMoney('succeeded', reference, amount, currency);
  if (status === 'canceled') return { is: 'cancelled', reference };
  if (status === 'failed') {
    return { is: 'declined', kind: 'hard', reason: failure_reason ?? 'refund_failed', reference };
  }
  return { is: 'unknown', reference };
}

/** The outcome behind an error of the client; no answer, or Stripe's own failure, leaves the outcome unknown. */
export function outcomeOfError(error: unknown): GatewayOutcome {
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

// https://docs.stripe.com/currencies: the minor units of Stripe's API are not those of ISO 4217 everywhere
const zeroDecimal = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '));
const threeDecimal = new Set('BHD JOD KWD OMR TND'.split(' '));

const stripeExponent = (currency: string): number =>
  zeroDecimal.has(currency) ? 0 : threeDecimal.has(currency) ? 3 : 2;

/**
 * An amount in the unit of Stripe's API from one in the ISO 4217 minor unit; undefined where Stripe cannot express it:
 * a fraction of an ariary, or a three-decimal amount whose last digit is not 0.
 */
export function toStripe(amount: bigint, currency: string): number | undefined {
  const shift = stripeExponent(currency) - exponentOf(currency);
  const divisor = 10n ** BigInt(Math.max(-shift, 0));
  const scaled = amount * 10n ** BigInt(Math.max(shift, 0));
  if (scaled % divisor !== 0n) return undefined;
  const result = scaled / divisor;
  if (threeDecimal.has(currency) && result % 10n !== 0n) return undefined;
  return Number(result);
}

/** The reverse: Stripe's amount in the ISO 4217 minor unit, rounded down. */
export function fromStripe(amount: number, currency: string): bigint {
  const shift = stripeExponent(currency) - exponentOf(currency);
  return (BigInt(amount) * 10n ** BigInt(Math.max(-shift, 0))) / 10n ** BigInt(Math.max(shift, 0));
}

/** Money that an object of Stripe states, in ISO 4217 minor units; undefined where it states none in a known currency. */
function moneyOf(amount: unknown, currency: unknown): { amount: bigint; currency: string } | undefined {
  if (!Number.isSafeInteger(amount) || typeof currency !== 'string') return undefined;
  const code = currency.toUpperCase();
  if (!currencies.has(code)) return undefined;
  const money = fromStripe(amount as number, code);
  return money > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : { amount: money, currency: code };
}

// The parts of Stripe's events that recur reads. They are signed, and checked all the same: what is stored of them has to
// fit, and an event of a shape that Stripe does not document must not fail whenever it is repeated.

/** A text that PostgreSQL can store. */
const text = z
  .string()
  .max(2_000)
  .regex(/^[^\0\p{Cs}]*$/u);
const id = text.min(1).max(255);
const reference = z.union([id, z.object({ id }).transform(of => of.id)]);
const money = z.int().min(0);
const event = z.object({
  id,
  type: z.string(),
  created: z.int().min(0),
  data: z.object({ object: z.unknown() }).nullish(),
});
/** Metadata that is absent or without a key of recur is of something that recur did not make. */
const made = z.object({ metadata: z.object({ recur_key: id.optional() }).nullish() });
const intent = z.object({
  id,
  status: text,
  amount_received: z.int().nullish(),
  amount_capturable: z.int().nullish(),
  currency: text.nullish(),
  last_payment_error: z.object({ code: text.nullish(), decline_code: text.nullish() }).nullish(),
  next_action: z.object({ redirect_to_url: z.object({ url: text.nullish() }).nullish() }).nullish(),
});
const refundShape = z.object({
  id,
  amount: money.nullish(),
  currency: text.nullish(),
  status: text.nullish(),
  failure_reason: text.nullish(),
});
const disputeShape = z.object({
  status: text,
  payment_intent: reference.nullish(),
  amount: money,
  currency: z
    .string()
    .transform(code => code.toUpperCase())
    .refine(code => currencies.has(code)),
});
const setup = z.object({ customer: reference.nullish(), payment_method: reference.nullish() });

/** A fact, or the saved method that a fact still lacks: the event has only its id. */
export type Read =
  | Exclude<GatewayEvent, { about: 'method' }>
  | (Omit<GatewayEvent & { about: 'method' }, 'method'> & { lacks: string });

/**
 * Reads an event of Stripe: those of charges and refunds that recur made, disputes, and saved methods; none in others,
 * whatever is in them. Throws where an event that concerns recur is not as Stripe documents it.
 */
export function parseEvents(sent: unknown): Read[] {
  const { id, type, created: at, data } = event.parse(sent);
  const as = <S extends z.ZodType>(shape: S): z.output<S> => shape.parse(data?.object);
  switch (type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
    case 'payment_intent.requires_action':
    case 'payment_intent.processing':
    case 'payment_intent.amount_capturable_updated': {
      const idempotencyKey = as(made).metadata?.recur_key;
      if (idempotencyKey === undefined) return [];
      return [{ about: 'charge', id, at, idempotencyKey, outcome: outcomeOf(as(intent) as Stripe.PaymentIntent) }];
    }
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed': {
      const idempotencyKey = as(made).metadata?.recur_key;
      if (idempotencyKey === undefined) return [];
      return [{ about: 'refund', id, at, idempotencyKey, outcome: outcomeOfRefund(as(refundShape) as Stripe.Refund) }];
    }
    case 'charge.dispute.created':
    case 'charge.dispute.closed': {
      const { status, payment_intent, amount, currency } = as(disputeShape);
      const state = status === 'won' || status === 'warning_closed' ? 'won' : status === 'lost' ? 'lost' : 'open';
      const disputed = moneyOf(amount, currency);
      return disputed ? [{ about: 'dispute', id, at, reference: payment_intent ?? '', ...disputed, state }] : [];
    }
    case 'setup_intent.succeeded': {
      const { customer, payment_method } = as(setup);
      if (!customer) return [];
      return [{ about: 'method', id, at, gatewayUserId: customer, lacks: reference.parse(payment_method) }];
    }
    default:
      return [];
  }
}
