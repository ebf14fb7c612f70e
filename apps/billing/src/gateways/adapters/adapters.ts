import { Injectable } from '@nestjs/common';
import { CONFIG } from '@recur/platform';
import type { Config } from '../../config.js';
import type { GatewayAdapter } from './adapter.js';
import { Sandbox } from './sandbox.js';
import { type StripeAddress, StripeGateway } from './stripe.js';

/** The adapters of this deployment by the name of their gateways. The wire transfer has none: it waits for the mark. */
@Injectable()
export class GatewayAdapters {
  private readonly byName: ReadonlyMap<string, GatewayAdapter>;

  constructor(adapters: readonly GatewayAdapter[]) {
    this.byName = new Map(adapters.map(adapter => [adapter.name, adapter]));
  }

  /** Undefined for a gateway that cannot charge by itself, or not here: the sandbox in production. */
  of(gatewayName: string): GatewayAdapter | undefined {
    return this.byName.get(gatewayName);
  }
}

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
