import * as contract from '@recur/contracts';
import type { ApiKey, Merchant } from './tables.js';

const emptyMerchant = contract.emptyOf(contract.InvoiceMerchant);

export function merchantView({ merchantId, name, createTime, profile }: Merchant): contract.InvoiceMerchant {
  const { defaultCurrency: _, ...told } = profile;
  return { ...emptyMerchant, ...told, id: merchantId, name, createTime };
}

export const apiKeyView = ({ id, merchantId, jtiHash, createTime, revokedTime }: ApiKey): contract.ApiKeyState => ({
  id,
  merchantId,
  jtiHash,
  createTime,
  revokedTime,
});
