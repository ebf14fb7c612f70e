import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import { blankSettings, type Gateway, type GatewayKind, kindOf } from './domain/gateway.js';
import { gateways } from './tables.js';

const emptyGateway = contract.emptyOf(contract.Gateway);
const emptyBank = contract.emptyOf(contract.GatewayBank);

/** A bank account with every field; null for none that is known. */
export const bankView = (bank: Partial<contract.GatewayBank> | null): contract.GatewayBank => ({
  ...emptyBank,
  ...bank,
});

/** Stands in answers for a secret that is set; sent back, it leaves the secret as it is. */
export const MASK = '••••••••';
const masked = (sealed: string | null): string => (sealed === null ? '' : MASK);

/** A gateway as the API shows it. The bank account is passed only where the merchant reads the gateway itself. */
export function gatewayView(gateway: Gateway, bank: Partial<contract.GatewayBank> | null = null): contract.Gateway {
  const { gatewayId, gatewayName, gatewayType, displayName, currency, sort, isDefault, createTime } = gateway;
  const { subGateway, paymentTypes, companyIssuer, currencyExchange, metadata } = gateway.settings ?? blankSettings;
  const kind = kindOf(gatewayName);
  return {
    ...emptyGateway,
    ...(kind && kindFields(kind)),
    gatewayId,
    gatewayName,
    name: gatewayName,
    gatewayType,
    displayName,
    currency,
    sort,
    isDefault,
    createTime,
    subGateway,
    companyIssuer,
    currencyExchange,
    metadata,
    minimumAmount: Number(gateway.minimumAmount),
    archive: gateway.archived,
    IsSetupFinished: true,
    currencyExchangeEnabled: currencyExchange.length > 0,
    gatewayIcons: gateway.icons,
    gatewayKey: masked(gateway.sealedKey),
    gatewaySecret: masked(gateway.sealedSecret),
    webhookSecret: masked(gateway.sealedWebhookSecret),
    setupGatewayPaymentTypes: (kind?.paymentTypes ?? []).filter(
      ({ paymentType }) => paymentTypes.length === 0 || paymentTypes.includes(paymentType),
    ),
    bank: bank && bankView(bank),
  };
}

/** A kind of gateway that is not set up yet. */
export const kindView = (kind: GatewayKind): contract.Gateway => ({
  ...emptyGateway,
  ...kindFields(kind),
  gatewayName: kind.name,
  name: kind.name,
  gatewayType: kind.type,
  displayName: kind.displayName,
});

const kindFields = ({ description, website, keyName, secretName, paymentTypes }: GatewayKind) => ({
  description,
  gatewayWebsiteLink: website,
  publicKeyName: keyName,
  privateSecretName: secretName,
  autoChargeEnabled: paymentTypes.some(({ autoCharge }) => autoCharge),
  defaultGatewayPaymentType: paymentTypes[0] ?? null,
  gatewayPaymentTypes: [...paymentTypes],
});

type Event = 'gateway.created' | 'gateway.updated';

/** A gateway. Its events leave the bank account out: other services must not see it. */
export const gatewayAggregate: AggregateOf<Event, Gateway, Gateway, contract.Gateway> = aggregate({
  name: 'gateway',
  title: 'Gateway',
  events: contract.events,
  table: gateways,
  key: 'gatewayId',
  target: ({ gatewayId, gatewayName }) => `${gatewayId}-${gatewayName}`,
  view: gateway => gatewayView(gateway),
});
