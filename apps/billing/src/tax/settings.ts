import type { MerchantVatRule } from '@recur/contracts';
import { settings, type Tx } from '@recur/platform';
import type { GatewayTaxRule } from './domain/decision.js';
import { type TaxSettings, taxSettings } from './tables.js';

const ofTaxes = settings(taxSettings, {
  nexusAddresses: [],
  gatewayRules: [],
  reverseChargePending: true,
  vatGateway: null,
});

/** The tax settings of the merchant, or the defaults. */
export const taxSettingsOf = ofTaxes.of;

/** Changes tax settings under their row lock. The caller writes the log entry. */
export async function changeTaxSettings(
  tx: Tx,
  change: Partial<Omit<TaxSettings, 'merchantId'>>,
): Promise<TaxSettings> {
  const changed = await ofTaxes.change(tx, change);
  // the row is saved without a change too: it is what commands that replace other rows of the merchant lock
  tx.save(taxSettings, changed);
  return changed;
}

/** Sets the merchant's rates by gateway and country (`gatewayVATRule` of the subscription config). */
export const setGatewayRules = (tx: Tx, gatewayRules: MerchantVatRule[]): Promise<TaxSettings> =>
  changeTaxSettings(tx, { gatewayRules });

/** Sets whether reverse charge applies to well-formed numbers that VIES has not confirmed (`reverseChargePending`). */
export const setReverseChargePending = (tx: Tx, reverseChargePending: boolean): Promise<TaxSettings> =>
  changeTaxSettings(tx, { reverseChargePending });

/** A rule as the decision takes it: its lists are texts separated by commas on the wire, countries in any case. */
export function gatewayRuleOf({ gatewayNames, validCountryCodes, ...rule }: MerchantVatRule): GatewayTaxRule {
  return { ...rule, gatewayNames: listIn(gatewayNames), countryCodes: listIn(validCountryCodes.toUpperCase()) };
}

const listIn = (text: string): string[] =>
  text
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '');
