import * as contract from '@recur/contracts';
import { shownCountryName } from '../domain/country.js';
import type { ApiKey, Merchant } from './tables.js';

const emptyMerchant = contract.emptyOf(contract.InvoiceMerchant);

export function merchantView({ merchantId, name, createTime, profile }: Merchant): contract.InvoiceMerchant {
  const told = Object.fromEntries(Object.entries(profile).filter(([field]) => field in emptyMerchant));
  // merchants have no language
  const countryName = shownCountryName(profile, 'en');
  return { ...emptyMerchant, ...told, countryName, id: merchantId, name, createTime };
}

/** The merchant as its users see it on the hosted pages. */
export const portalMerchantView = (merchant: Merchant): contract.PortalMerchant =>
  contract.PortalMerchant.parse(merchantView(merchant));

/** The merchant as other services see it, with the settings of its documents. */
export function merchantState(merchant: Merchant): contract.MerchantState {
  const { invoiceNumberPrefix = '', creditNoteNumberPrefix = '' } = merchant.profile;
  const { nextInvoiceNumber = 0, nextCreditNoteNumber = 0 } = merchant.profile;
  const numbers = { invoiceNumberPrefix, creditNoteNumberPrefix, nextInvoiceNumber, nextCreditNoteNumber };
  return { ...merchantView(merchant), ...numbers };
}

export const apiKeyView = ({ id, merchantId, jtiHash, createTime, revokedTime }: ApiKey): contract.ApiKeyState => ({
  id,
  merchantId,
  jtiHash,
  createTime,
  revokedTime,
});
