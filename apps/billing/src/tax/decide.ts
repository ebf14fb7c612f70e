import { type User, type UsVatConfig, userType } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { findUser } from '../customers/users.js';
import { countryRatesOf } from './countries.js';
import {
  decideTax,
  type RequestedTax,
  type TaxBuyer,
  type TaxDecision,
  type TaxSeller,
  type UsRate,
  type UsTaxConfig,
} from './domain/decision.js';
import { gatewayRuleOf, taxSettingsOf } from './settings.js';
import { taxExemptions, usTaxRates } from './tables.js';
import { placeOfZip, stateCode } from './us-places.js';
import { parseVatNumber } from './vat-number.js';
import { answerAbout, markPending } from './vat-numbers.js';

/** The parties of a sale. */
export interface TaxParties {
  /** 0 for a buyer who is no user yet. */
  userId: number;
  /** ISO 3166-1 alpha-2. */
  sellerCountryCode: string;
  /** Country and VAT number that a request states in place of the user's; a number that is stated makes a business. */
  vatCountryCode?: string;
  vatNumber?: string;
}

/** Everything about a sale that a rate depends on, but the tax point. */
export interface TaxContext {
  seller: TaxSeller;
  buyer: TaxBuyer;
  merchantUs: UsTaxConfig;
  usRates: readonly UsRate[];
  now: number;
}

/** Item to be taxed, and the time of its taxation. */
export interface TaxItem {
  /** Percentage of the request; see `RequestedTax`. */
  requested?: RequestedTax;
  gatewayName: string;
  /** `usVATConfig` of the plan and of its product. */
  plan?: UsVatConfig | null;
  product?: UsVatConfig | null;
  /** Tax point in unix seconds; see `taxPoint`. */
  at: number;
}

/** Rate, category, jurisdiction, source and reason of one item; for several items, load their context once. */
export const decide = async (reader: Reader, request: TaxParties & TaxItem): Promise<TaxDecision> =>
  decideRate(await loadTaxContext(reader, request), request);

/**
 * Loads what the tax of a sale depends on. Throws Rejected `user_not_found` for a user without a copy: commands check the buyer first,
 * which asks identity.
 */
export async function loadTaxContext(reader: Reader, parties: TaxParties): Promise<TaxContext> {
  const { userId } = parties;
  const [settings, user, exemption] = await Promise.all([
    taxSettingsOf(reader),
    userId === 0 ? undefined : findUser(reader, { userId }),
    userId === 0 ? undefined : reader.find(taxExemptions, { userId }),
  ]);
  if (userId !== 0 && !user) throw new Rejected('user_not_found');
  const buyer = taxBuyer(user?.data, parties);
  const [vatNumber, usRates] = await Promise.all([
    vatNumberAnswer(reader, parties.vatNumber || (user?.data.vATNumber ?? '')),
    buyer.countryCode === 'US' ? reader.all(usTaxRates, { state: buyer.state }) : [],
  ]);
  return {
    seller: {
      countryCode: parties.sellerCountryCode.toUpperCase(),
      gatewayRules: settings.gatewayRules.map(gatewayRuleOf),
      reverseChargePending: settings.reverseChargePending,
    },
    buyer: { ...buyer, ...(exemption && { exemption }), ...(vatNumber && { vatNumber }) },
    merchantUs: usConfig(settings.nexusAddresses),
    usRates: usRates.map(({ fromTime, toTime, ...rate }) => ({ ...rate, from: fromTime, to: toTime })),
    now: reader.now,
  };
}

/** Decides the rate of an item. */
export function decideRate(context: TaxContext, { requested, gatewayName, plan, product, at }: TaxItem): TaxDecision {
  const own = [plan, product].find(config => config?.active);
  // a product with sales tax switched on that names no places of its own is taxed where the merchant has nexus
  const us =
    own && (own.nexusAddresses.length > 0 ? usConfig(own.nexusAddresses) : { ...context.merchantUs, active: true });
  return decideTax({
    ...context,
    ...(requested && { requested }),
    gatewayName,
    product: us ? { us } : {},
    countryRates: countryRatesOf(context.buyer.countryCode),
    at,
  });
}

/** To be called when a document is finished: a number that it relies on without an answer of VIES is checked daily. */
export async function followUp(tx: Tx, { buyer }: TaxContext, decisions: readonly TaxDecision[]): Promise<void> {
  if (buyer.vatNumber && decisions.some(({ pending }) => pending)) await markPending(tx, buyer.vatNumber.number);
}

/** US sales tax is switched on by having nexus. */
function usConfig(nexusAddresses: UsVatConfig['nexusAddresses']): UsTaxConfig {
  const nexusStates = [...new Set(nexusAddresses.map(({ state }) => stateCode(state) ?? state))];
  return { active: nexusStates.length > 0, nexusStates };
}

function taxBuyer(user: User | undefined, { vatCountryCode, vatNumber }: TaxParties): TaxBuyer {
  const countryCode = (vatCountryCode || (user?.countryCode ?? '')).toUpperCase();
  const zip = user?.zipCode.trim() ?? '';
  const state = stateCode(user?.state ?? '') ?? placeOfZip(zip)?.state ?? '';
  const business = Boolean(vatNumber) || user?.type === userType.business;
  return { business, countryCode, ...(countryCode === 'US' ? { state, zip } : { state: '', zip: '' }) };
}

async function vatNumberAnswer(reader: Reader, text: string): Promise<TaxBuyer['vatNumber']> {
  if (text === '') return undefined;
  const { number, wellFormed } = await parseVatNumber(text);
  const answer = await answerAbout(reader, number);
  return { number, wellFormed, ...(answer && { answer }) };
}
