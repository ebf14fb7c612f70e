import * as contract from '@recur/contracts';
import type { Gateway } from './domain/gateway.js';

const emptyGateway = contract.emptyOf(contract.Gateway);
const emptyBank = contract.emptyOf(contract.GatewayBank);

/** A gateway as the API shows it. The bank account is passed only where the merchant reads the gateway itself. */
export function gatewayView(gateway: Gateway, bank: Partial<contract.GatewayBank> | null = null): contract.Gateway {
  const { gatewayId, gatewayName, gatewayType, displayName, currency, sort, isDefault, createTime } = gateway;
  return {
    ...emptyGateway,
    gatewayId,
    gatewayName,
    name: gatewayName,
    gatewayType,
    displayName,
    currency,
    sort,
    isDefault,
    createTime,
    minimumAmount: Number(gateway.minimumAmount),
    archive: gateway.archived,
    IsSetupFinished: true,
    gatewayIcons: gateway.icons,
    bank: bank && { ...emptyBank, ...bank },
  };
}
