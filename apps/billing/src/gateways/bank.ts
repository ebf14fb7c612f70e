import type { GatewayBank } from '@recur/contracts';
import type { Keyring } from '@recur/platform';
import type { Gateway } from './domain/gateway.js';

/** Additional authenticated data of an encrypted bank account. */
export const bankContext = (merchantId: number, gatewayId: number) => `gateways.sealed_bank ${merchantId} ${gatewayId}`;

/** The decrypted bank account of a gateway; null for none. */
export function bankIn(gateway: Gateway, keyring: Keyring): Partial<GatewayBank> | null {
  const { merchantId, gatewayId, sealedBank } = gateway;
  return sealedBank && JSON.parse(keyring.open(sealedBank, bankContext(merchantId, gatewayId)));
}
