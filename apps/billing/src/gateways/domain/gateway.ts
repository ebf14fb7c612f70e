import type { GatewayCompanyIssuer, GatewayCurrencyExchange } from '@recur/contracts';
import { Rejected } from '@recur/kernel';

/** Settings of a gateway that nothing is computed from in SQL. */
export interface GatewaySettings {
  subGateway: string;
  /** Chosen among those that the gateway offers; none: all. */
  paymentTypes: string[];
  companyIssuer: GatewayCompanyIssuer | null;
  currencyExchange: GatewayCurrencyExchange[];
  metadata: Record<string, unknown>;
}

export const blankSettings: GatewaySettings = {
  subGateway: '',
  paymentTypes: [],
  companyIssuer: null,
  currencyExchange: [],
  metadata: {},
};

/** A way to collect money. What is named `sealed` is encrypted at rest (the platform's Keyring). */
export interface Gateway {
  merchantId: number;
  gatewayId: number;
  gatewayName: string;
  gatewayType: number;
  displayName: string;
  currency: string;
  /** Smallest amount it collects, in minor units of `currency`. */
  minimumAmount: bigint;
  sort: number;
  icons: string[];
  isDefault: boolean;
  archived: boolean;
  sealedBank: string | null;
  /** Unix seconds. */
  createTime: number;
  version: number;
  /** Null for one that was set up without any. */
  settings: GatewaySettings | null;
  sealedKey: string | null;
  sealedSecret: string | null;
  sealedWebhookSecret: string | null;
}

export const WIRE_TRANSFER = 'wire_transfer';

/** True if one of the merchant's gateways is the default. Setting up or restoring one makes it the default if none is. */
export const hasDefault = (all: readonly Gateway[]): boolean => all.some(({ isDefault }) => isDefault);

/**
 * The requested gateway; else the user's own, else the merchant's default, else none. `requested` and `usual` are 0
 * when not given. Throws what `usableGateway` does for a requested one.
 */
export function chooseGateway(all: readonly Gateway[], requested: number, usual: number): Gateway | undefined {
  if (requested !== 0) return usableGateway(all, requested);
  const usable = all.filter(({ archived }) => !archived);
  return usable.find(({ gatewayId }) => gatewayId === usual) ?? usable.find(({ isDefault }) => isDefault);
}

/** Throws Rejected `gateway_not_found` or `gateway_archived`. */
export function usableGateway(all: readonly Gateway[], requested: number): Gateway {
  const gateway = all.find(({ gatewayId }) => gatewayId === requested);
  if (!gateway) throw new Rejected('gateway_not_found');
  if (gateway.archived) {
    throw new Rejected('gateway_archived', `Gateway ${requested} is archived: cannot collect by it`);
  }
  return gateway;
}
