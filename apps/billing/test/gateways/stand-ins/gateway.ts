import Stripe from 'stripe';
import type { ChargeRequest, GatewayAccount, RefundRequest } from '../../../src/gateways/adapters/adapter.js';
import { StripeGateway } from '../../../src/gateways/adapters/stripe.js';

export const account: GatewayAccount = {
  merchantId: 1,
  gatewayId: 7,
  key: 'pk_test_1',
  secret: 'sk_test_1',
  webhookSecret: 'whsec_1',
};

export const charge: ChargeRequest = {
  idempotencyKey: 'pay_1-1',
  paymentId: 'pay_1',
  amount: 1200n,
  currency: 'EUR',
  gatewayMethodId: 'pm_1',
  gatewayUserId: 'cus_1',
  offSession: true,
  returnUrl: '',
  manualCapture: false,
};

export const refundOf = (reference: string, refundId = 're_1'): RefundRequest => ({
  idempotencyKey: refundId,
  refundId,
  reference,
  amount: 500n,
  currency: 'EUR',
});

/** The adapter, and Stripe's own client, of a server at this address. */
export function clientsOf(url: string): { gateway: StripeGateway; stripe: Stripe } {
  const { hostname: host, port } = new URL(url);
  const address = { host, port: Number(port), protocol: 'http' } as const;
  return {
    gateway: new StripeGateway('https://portal.example.com', address),
    stripe: new Stripe(account.secret, { ...address, telemetry: false }),
  };
}
