import { type GatewayPaymentType, gatewayType } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { WIRE_TRANSFER } from './gateway.js';

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
