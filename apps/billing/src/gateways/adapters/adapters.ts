import { CONFIG } from '@recur/platform';
import type { Config } from '../../config.js';
import { GatewayAdapters } from './registry.js';
import { Sandbox } from './sandbox.js';
import { type StripeAddress, StripeGateway } from './stripe.js';

/** Provides the adapters of this deployment: no sandbox in production. */
export const gatewayAdapters = {
  provide: GatewayAdapters,
  inject: [CONFIG, Sandbox],
  useFactory: ({ RECUR_ENV, PORTAL_BASE, STRIPE_URL }: Config, sandbox: Sandbox) => {
    const stripe = new StripeGateway(PORTAL_BASE, STRIPE_URL ? addressOf(STRIPE_URL) : {});
    return new GatewayAdapters(RECUR_ENV === 'production' ? [stripe] : [stripe, sandbox]);
  },
};

function addressOf(url: string): StripeAddress {
  const { protocol, hostname: host, port } = new URL(url);
  const scheme = protocol === 'http:' ? 'http' : 'https';
  return { host, port: Number(port) || (scheme === 'http' ? 80 : 443), protocol: scheme };
}
