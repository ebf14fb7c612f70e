import type { MerchantVatRule } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import type { GatewayTaxRule } from './domain/decision.js';
import { type TaxSettings, taxSettings } from './tables.js';

const defaults = (merchantId: number): TaxSettings => ({
  merchantId,
  nexusAddresses: [],
  gatewayRules: [],
  reverseChargePending: true,
  vatGateway: null,
});

/** The tax settings of the merchant, or the defaults. */
export const settingsOf = async (reader: Reader): Promise<TaxSettings> =>
  (await reader.find(taxSettings, {})) ?? defaults(reader.merchantId);

/** Changes tax settings under their row lock; who calls it writes the log entry. */
export async function changeSettings(tx: Tx, change: Partial<Omit<TaxSettings, 'merchantId'>>): Promise<TaxSettings> {
  // two commands may both find no row yet
  tx.onConflict('tax_settings_pkey', 'again');
  const settings = { ...((await tx.lockIfAny(taxSettings, {})) ?? defaults(tx.merchantId)), ...change };
  tx.save(taxSettings, settings);
  return settings;
}

/** Sets the merchant's rates by gateway and country (`gatewayVATRule` of the subscription config). */
export const setGatewayRules = (tx: Tx, gatewayRules: MerchantVatRule[]): Promise<TaxSettings> =>
  changeSettings(tx, { gatewayRules });

/** Sets whether reverse charge applies to well-formed numbers that VIES has not confirmed (`reverseChargePending`). */
export const setReverseChargePending = (tx: Tx, reverseChargePending: boolean): Promise<TaxSettings> =>
  changeSettings(tx, { reverseChargePending });

/** A rule as the decision takes it: its lists are texts separated by commas on the wire, countries in any case. */
export function ruleOf({ gatewayNames, validCountryCodes, ...rule }: MerchantVatRule): GatewayTaxRule {
  return { ...rule, gatewayNames: listIn(gatewayNames), countryCodes: listIn(validCountryCodes.toUpperCase()) };
}

const listIn = (text: string): string[] =>
  text
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '');
