import type Stripe from 'stripe';
import type { Fact, SavedMethod } from './adapter.js';
import { moneyOf } from './stripe-amounts.js';
import { outcomeOf, outcomeOfRefund } from './stripe-outcomes.js';

const idOf = (of: string | { id: string } | null | undefined): string => (typeof of === 'string' ? of : (of?.id ?? ''));

/** The facts in an event of Stripe: of charges and refunds that recur made, disputes, and saved methods. */
export async function factsIn(event: Stripe.Event, method: (id: string) => Promise<SavedMethod>): Promise<Fact[]> {
  const { id, created: at } = event;
  switch (event.type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
    case 'payment_intent.requires_action':
    case 'payment_intent.processing':
    case 'payment_intent.amount_capturable_updated': {
      const intent = event.data.object;
      const idempotencyKey = intent.metadata.recur_key;
      return idempotencyKey ? [{ about: 'charge', id, at, idempotencyKey, outcome: outcomeOf(intent) }] : [];
    }
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed': {
      const refund = event.data.object;
      const idempotencyKey = refund.metadata?.recur_key;
      return idempotencyKey ? [{ about: 'refund', id, at, idempotencyKey, outcome: outcomeOfRefund(refund) }] : [];
    }
    case 'charge.dispute.created':
    case 'charge.dispute.closed': {
      const { status, payment_intent, amount, currency } = event.data.object;
      const state = status === 'won' || status === 'warning_closed' ? 'won' : status === 'lost' ? 'lost' : 'open';
      const disputed = moneyOf(amount, currency);
      return disputed ? [{ about: 'dispute', id, at, reference: idOf(payment_intent), ...disputed, state }] : [];
    }
    case 'setup_intent.succeeded': {
      const { customer, payment_method } = event.data.object;
      const gatewayUserId = idOf(customer);
      if (gatewayUserId === '') return [];
      return [{ about: 'method', id, at, gatewayUserId, method: await method(idOf(payment_method)) }];
    }
    default:
      return [];
  }
}
