import { InvoiceMerchant, type MerchantState, type Plan, type User } from '@recur/contracts';
import type { CommandReader, Reader, Tx } from '@recur/platform';
import { assertProducts, productsOf } from '../customers/catalog.js';
import { emptyMerchant, knownMerchant, ownMerchant } from '../customers/merchants.js';
import { findUser } from '../customers/users.js';
import type { TaxRate } from '../pricing/tax.js';
import { countryName } from '../tax/countries.js';
import { decideRate, followUp, loadTaxContext, type TaxContext } from '../tax/decide.js';
import { type RequestedTax, type TaxDecision, taxPoint } from '../tax/domain/decision.js';
import type { InvoiceRow } from './tables.js';

/** The parties of a document, as they are now. They are frozen on it when it is finished. */
export interface Parties {
  merchant: MerchantState;
  seller: InvoiceMerchant;
  buyer: User | null;
}

/** The parties of a document. A VAT number and a country that were given with the order are the buyer's. */
export async function partiesOf(
  reader: CommandReader,
  { userId, billed }: Pick<InvoiceRow, 'userId' | 'billed'>,
): Promise<Parties> {
  const [merchant, user] = await Promise.all([ownMerchant(reader), findUser(reader, { userId })]);
  const shown = Object.entries(merchant).filter(([field]) => field in emptyMerchant);
  return {
    merchant,
    seller: { ...emptyMerchant, ...Object.fromEntries(shown) },
    buyer: invoiceBuyer(user?.data, billed),
  };
}

function invoiceBuyer(user: User | undefined, billed: InvoiceRow['billed']): User | null {
  if (!user) return null;
  const { vatNumber = '', countryCode = '' } = billed ?? {};
  return {
    ...user,
    ...(vatNumber !== '' && { vATNumber: vatNumber }),
    ...(countryCode !== '' &&
      countryCode !== user.countryCode && { countryCode, countryName: countryName(countryCode) }),
  };
}

/** The buyer as it is now; undefined for a user without a copy. */
export const buyerNow = async (reader: CommandReader, userId: number): Promise<User | undefined> =>
  (await findUser(reader, { userId }))?.data;

/** A sale to be taxed. */
export interface TaxedSale {
  userId: number;
  /** '' where no gateway is chosen. */
  gatewayName: string;
  /** Percentage of the request; without one the rate is decided. */
  requested?: RequestedTax;
  /** Country and VAT number that the request states in place of the user's. */
  vatCountryCode?: string;
  vatNumber?: string;
}

/** Facts of a line that its rate depends on. */
export interface TaxedLine {
  plan?: Plan | null;
  /** Unix second at which the period of usage ends; absent for fees, whose tax point is now. */
  usagePeriodEnd?: number;
  /** Rate of the line that a credit line credits: it is not decided again. */
  rate?: TaxRate;
}

/** The rates of the lines, and the decisions among them, in the order of the lines. */
export interface Taxation {
  context: TaxContext;
  rates: TaxRate[];
  decisions: TaxDecision[];
}

/**
 * Decides the rate of each line. In a transaction, a product that is not known is asked of catalog: throws Stale.
 * Throws what `loadTaxContext` does.
 */
export async function taxationOf(
  reader: Reader | Tx,
  { userId, gatewayName, requested, vatCountryCode, vatNumber }: TaxedSale,
  lines: readonly TaxedLine[],
): Promise<Taxation> {
  const plans = lines.flatMap(({ plan }) => plan ?? []);
  const [merchant, products] = await Promise.all([knownMerchant(reader), productsOf(reader, plans)]);
  const context = await loadTaxContext(reader, {
    userId,
    sellerCountryCode: merchant.countryCode,
    ...(vatCountryCode && { vatCountryCode }),
    ...(vatNumber && { vatNumber }),
  });
  // only US sales tax depends on products
  if ('stale' in reader && context.buyer.countryCode === 'US') assertProducts(reader, plans, products);
  const decisions: TaxDecision[] = [];
  const rates = lines.map(({ plan, usagePeriodEnd, rate }) => {
    if (rate) return rate;
    const point = taxPoint(usagePeriodEnd === undefined ? {} : { usagePeriodEnd }, reader.now);
    const product = plan ? (products.get(plan.productId)?.usVATConfig ?? null) : null;
    const item = { gatewayName, plan: plan?.usVATConfig ?? null, product, at: point };
    const decision = decideRate(context, { ...item, ...(requested && { requested }) });
    decisions.push(decision);
    return decision;
  });
  return { context, rates, decisions };
}

/** To be called when the document is finished: numbers that VIES has not confirmed are checked again daily. */
export const afterTaxation = (tx: Tx, { context, decisions }: Taxation): Promise<void> =>
  followUp(tx, context, decisions);
