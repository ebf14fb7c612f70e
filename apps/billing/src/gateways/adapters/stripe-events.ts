import { currencies } from '@recur/contracts';
import type Stripe from 'stripe';
import { z } from 'zod';
import type { Fact } from './adapter.js';
import { moneyOf } from './stripe-amounts.js';
import { outcomeOf, outcomeOfRefund } from './stripe-outcomes.js';

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
const refund = z.object({
  id,
  amount: money.nullish(),
  currency: text.nullish(),
  status: text.nullish(),
  failure_reason: text.nullish(),
});
const dispute = z.object({
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
  | Exclude<Fact, { about: 'method' }>
  | (Omit<Fact & { about: 'method' }, 'method'> & { lacks: string });

/**
 * The facts in an event of Stripe: of charges and refunds that recur made, disputes, and saved methods; none in others,
 * whatever is in them. Throws where an event that concerns recur is not as Stripe documents it.
 */
export function factsIn(sent: unknown): Read[] {
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
      return [{ about: 'refund', id, at, idempotencyKey, outcome: outcomeOfRefund(as(refund) as Stripe.Refund) }];
    }
    case 'charge.dispute.created':
    case 'charge.dispute.closed': {
      const { status, payment_intent, amount, currency } = as(dispute);
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
