import {
  type GatewayCompanyIssuer,
  type GatewayCurrencyExchange,
  type GatewayPaymentType,
  gatewayType,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';

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

/** A kind of gateway that merchants can set up. */
export interface GatewayKind {
  name: string;
  type: number;
  displayName: string;
  description: string;
  website: string;
  /** Names that the gateway itself gives its keys; '' where it has none. */
  keyName: string;
  secretName: string;
  /** Beginning of the key by which its own card fields open in a page; '' for a gateway that has no such fields. */
  fieldsKeyPrefix: string;
  sendsWebhooks: boolean;
  paymentTypes: readonly GatewayPaymentType[];
}

const card: GatewayPaymentType = {
  autoCharge: true,
  category: 'Card',
  countryName: '',
  name: 'Card',
  paymentType: 'card',
  supportCurrencies: [],
};

const sandbox: GatewayKind = {
  name: 'sandbox',
  type: gatewayType.card,
  displayName: 'Sandbox',
  website: '',
  description: 'Charges test payment methods with fixed outcomes; no money moves',
  keyName: '',
  secretName: '',
  fieldsKeyPrefix: '',
  sendsWebhooks: true,
  paymentTypes: [card],
};

const stripe: GatewayKind = {
  name: 'stripe',
  type: gatewayType.card,
  displayName: 'Stripe',
  website: 'https://stripe.com',
  description: 'Charges cards through Stripe',
  keyName: 'Publishable key',
  secretName: 'Secret key',
  fieldsKeyPrefix: 'pk_',
  sendsWebhooks: true,
  paymentTypes: [card],
};

export const wireTransfer: GatewayKind = {
  name: WIRE_TRANSFER,
  type: gatewayType.wireTransfer,
  displayName: 'Wire Transfer',
  website: '',
  description: '',
  keyName: '',
  secretName: '',
  fieldsKeyPrefix: '',
  sendsWebhooks: false,
  paymentTypes: [],
};

const kinds: ReadonlyMap<string, GatewayKind> = new Map([sandbox, stripe, wireTransfer].map(one => [one.name, one]));

/** The kind of a gateway; undefined for one that this version does not know. */
export const kindOf = (gatewayName: string): GatewayKind | undefined => kinds.get(gatewayName);

/** True for a gateway that charges saved payment methods by itself; a transfer is waited for. */
export const chargesItself = (gateway: { gatewayName: string } | undefined): boolean =>
  kindOf(gateway?.gatewayName ?? '')?.paymentTypes.some(({ autoCharge }) => autoCharge) ?? false;

/** The kinds that gateway/setup takes. */
export const setupKinds = (isProduction: boolean): readonly GatewayKind[] =>
  isProduction ? [stripe] : [sandbox, stripe];

/** The kind that gateway/setup names. Throws Rejected `invalid_parameters`, listing those that there are. */
export function setupKind(gatewayName: string, isProduction: boolean): GatewayKind {
  const offered = setupKinds(isProduction);
  const kind = offered.find(({ name }) => name === gatewayName);
  if (!kind) throw invalid('/gatewayName', `must be one of ${offered.map(({ name }) => name).join(', ')}`);
  return kind;
}
