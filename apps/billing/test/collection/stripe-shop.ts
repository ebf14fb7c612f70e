import { gatewayCallback, newPaymentMethod, setupGateway, setupGatewayWebhook } from '@recur/contracts';
import { http } from '@recur/platform/testing';
import Stripe from 'stripe';
import { shop } from '../world/shop.js';

const secret = 'whsec_1';
const method = { object: 'payment_method', type: 'card', card: { brand: 'visa', last4: '4242' } };

/**
 * A shop that charges through Stripe, which a server of this process stands in for: charges stay `processing` until `says`
 * is set for a payment intent or a refund. `event` delivers a signed callback as the gateway app does.
 */
export async function stripeShop() {
  const says = new Map<string, object>();
  let made = 0;
  const server = await http((request, response) => {
    request.resume();
    request.on('end', () => {
      const [, kind = '', known, action] =
        (request.url ?? '').split('?')[0]?.match(/^\/v1\/(\w+)\/?(\w+)?\/?(\w+)?/) ?? [];
      const answers: Record<string, () => object> = {
        customers: () => ({ id: `cus_${++made}`, object: 'customer' }),
        setup_intents: () => ({ id: `seti_${++made}`, object: 'setup_intent', status: 'succeeded' }),
        payment_methods: () => ({ id: known, ...method }),
        payment_intents: () => ({
          id: known ?? `pi_${++made}`,
          object: 'payment_intent',
          status: 'processing',
          metadata: {},
          ...says.get(action ?? (known ? 'status' : 'charge')),
        }),
        refunds: () => ({ id: known ?? `re_${++made}`, object: 'refund', status: 'pending', ...says.get('refund') }),
      };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answers[kind]?.() ?? {}));
    });
  });
  const s = await shop(undefined, { STRIPE_URL: server.url });
  const { gatewayId } = (
    await s.t.done(setupGateway, { gatewayName: 'stripe', gatewayKey: 'pk_1', gatewaySecret: 'sk_1' })
  ).gateway;
  await s.t.done(setupGatewayWebhook, { gatewayId, webhookSecret: secret });
  const other = (await s.sandbox()).gatewayId;
  let events = 0;
  return {
    ...s,
    gatewayId,
    other,
    says,
    newId: () => `evt_${++events}`,
    /** An open invoice of 5.00 USD, 1.00 of it tax, whose charge was sent and is not decided. */
    async charged(over: object = {}) {
      const userId = s.newUser();
      await s.t.done(newPaymentMethod, { gatewayId, userId, data: { paymentMethodId: `pm_${userId}` } });
      const lines = [{ name: 'Seat', quantity: 1, unitAmountExcludingTax: 400 }];
      const order = { userId, gatewayId, currency: 'USD', taxPercentage: 2500, lines, finish: true };
      const { invoiceId, paymentId } = await s.made({ ...order, ...over });
      await s.drain();
      return { userId, invoiceId, paymentId };
    },
    /** Delivers an event of Stripe, rightly signed. True for an answer of 2xx. */
    async event(type: string, object: object, id = `evt_${++events}`): Promise<boolean> {
      const created = Math.floor(s.clock.wall() / 1000);
      const payload = JSON.stringify({ id, object: 'event', created, type, data: { object } });
      const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: created });
      const base64 = Buffer.from(payload).toString('base64');
      const input = { gatewayId, headers: { 'stripe-signature': signature }, base64 };
      const caller = s.t.callerOf({ merchantId: 0, actor: { kind: 'system', id: '', display: 'system' } });
      return (await s.t.server.dispatch(gatewayCallback.name, JSON.stringify(input), caller)).ok;
    },
    async close() {
      await s.t.close();
      await server.close();
    },
  };
}
export type StripeShop = Awaited<ReturnType<typeof stripeShop>>;
