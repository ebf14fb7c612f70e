import { exponentOf } from '@recur/contracts';
import { sum } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import * as credits from '../../credits/spending.js';
import { assertProducts, type Products, productsOf } from '../../customers/catalog.js';
import * as discounts from '../../discounts/redemption.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import type { PromoTerms } from '../../pricing/credit.js';
import {
  type DiscountTerms,
  discountOfParts,
  type ItemChange,
  isDiscountable,
  type Refused,
} from '../../pricing/discount.js';
import { type Composition, priceLines } from '../../pricing/price.js';
import type { TaxRate } from '../../pricing/tax.js';
import { decideRate, loadTaxContext, type TaxContext } from '../../tax/decide.js';
import { type TaxDecision, taxPoint } from '../../tax/domain/decision.js';
import type { InvoiceInput, InvoiceItem } from '../domain/items.js';
import { paidSubscriptionInvoices } from './discount-preview.js';

/** The parties of an invoice, as far as its amounts depend on them. */
export interface InvoiceParties {
  sellerCountryCode: string;
  gateway: Gateway | undefined;
}

/** An invoice with its amounts. Previews and issuing share it, so a preview is the invoice that would be made. */
export interface CalculatedInvoice {
  input: InvoiceInput;
  gateway: Gateway | undefined;
  rates: readonly (TaxRate | TaxDecision)[];
  tax: TaxContext;
  composition: Composition;
  discount: { code: string; terms: DiscountTerms; discountId: number; recurring: boolean } | undefined;
  /** Why the code cannot be used; undefined if it can, or there is none. */
  refused: Refused | undefined;
  /** Promo credit as it was taken; undefined where none is asked for. */
  promo: PromoTerms | undefined;
  /** Most of the lines that promo credit may pay: what is left of them after the discount. */
  promoBase: bigint;
}

/**
 * Calculates an invoice: tax rates, discount and promo credit of the present, and the amounts. Nothing is locked. In a
 * transaction, a product that is not known is asked of catalog: throws Stale.
 */
export async function calculateInvoice(
  reader: Reader | Tx,
  input: InvoiceInput,
  parties: InvoiceParties,
): Promise<CalculatedInvoice> {
  const { userId, vatNumber, countryCode } = input;
  const buyer = { ...(vatNumber && { vatNumber }), ...(countryCode && { vatCountryCode: countryCode }) };
  const plans = input.items.map(({ plan }) => plan ?? input.mainPlan);
  const [tax, products, discount] = await Promise.all([
    loadTaxContext(reader, { userId, sellerCountryCode: parties.sellerCountryCode, ...buyer }),
    productsOf(reader, plans),
    evaluateDiscount(reader, input),
  ]);
  // only US sales tax depends on products; a new one may not have arrived yet
  const isNew = input.reason === 'create' && tax.buyer.countryCode === 'US';
  if (isNew && 'stale' in reader) assertProducts(reader, plans, products);
  const granted = 'problem' in discount ? undefined : discount.granted;
  const promo = await promoTerms(reader, input, granted !== undefined);
  const refused = 'problem' in discount ? discount : undefined;
  return calculatedFrom(input, { tax, products, gateway: parties.gateway, discount: granted, refused, promo });
}

/** Everything beside an invoice that its amounts depend on. */
export interface InvoiceProducts extends Pick<CalculatedInvoice, 'tax' | 'gateway' | 'discount' | 'refused' | 'promo'> {
  products: Products;
}

/** Calculates an invoice of what is known, which is all that an invoice is made of: pure. */
export function calculatedFrom(input: InvoiceInput, { products, ...context }: InvoiceProducts): CalculatedInvoice {
  const { tax, gateway, discount, promo } = context;
  const rates = input.items.map(item => taxRate({ tax, products }, input, item, gateway));
  return { ...context, input, rates, ...itemAmounts(input, rates, discount?.terms, promo) };
}

/** The same invoice with other promo credit: that which was found when the account was locked. */
export const withPromo = (calculated: CalculatedInvoice, promo: PromoTerms | undefined): CalculatedInvoice => ({
  ...calculated,
  promo,
  ...itemAmounts(calculated.input, calculated.rates, calculated.discount?.terms, promo),
});

function itemAmounts(
  { items, reason }: InvoiceInput,
  rates: readonly TaxRate[],
  discount: DiscountTerms | undefined,
  promo: PromoTerms | undefined,
): Pick<CalculatedInvoice, 'composition' | 'promoBase'> {
  const lines = items.map(({ unitAmount, quantity, kind }, at) => ({
    unitAmountExcludingTax: unitAmount,
    quantity,
    rate: rates[at] as TaxRate,
    // an add-on that is sold once is reduced by the terms of its own request only
    discountable: isDiscountable(kind) || reason === 'onetime',
  }));
  const composition = priceLines(lines, { ...(discount && { discount }), ...(promo && { promo }) });
  const net = sum(composition.lines.map(line => line.amountExcludingTax - line.discountAmount));
  return { composition, promoBase: net > 0n ? net : 0n };
}

function taxRate(
  { tax, products }: { tax: TaxContext; products: Products },
  input: InvoiceInput,
  item: InvoiceItem,
  gateway: Gateway | undefined,
): TaxRate | TaxDecision {
  if (item.source) return item.source.rate;
  const { taxPercentage, moment, mainPlan } = input;
  const plan = item.plan ?? mainPlan;
  const isUsage = item.kind === 'metered' || item.kind === 'lateUsage';
  const usage = isUsage && item.period ? { usagePeriodEnd: item.period.end } : {};
  const requested = { taxPercentage, command: 'subscription', byApiKey: true } as const;
  return decideRate(tax, {
    ...(taxPercentage > 0 && { requested }),
    gatewayName: gateway?.gatewayName ?? '',
    plan: plan.usVATConfig,
    product: products.get(plan.productId)?.usVATConfig ?? null,
    at: taxPoint(usage, moment),
  });
}

type EvaluatedDiscount = { granted: CalculatedInvoice['discount'] } | Refused;

async function evaluateDiscount(reader: Reader, input: InvoiceInput): Promise<EvaluatedDiscount> {
  const { discount, subscriptionId, userId, currency, moment, mainPlan: plan } = input;
  if (!discount) return { granted: undefined };
  if (discount.is === 'terms' || discount.is === 'external') {
    const external = discount.is === 'external';
    const code = external ? '' : discount.code;
    const given = { code, terms: discount.terms, discountId: 0, recurring: external && discount.recurring };
    return { granted: external ? inPart(given, discount.bases) : given };
  }
  if (discount.is === 'bound') return { granted: await discounts.nextCycle(reader, { ...discount, subscriptionId }) };
  if (discount.is === 'waiting') return { granted: await discounts.reservedUse(reader, discount) };
  const { code, operation } = discount;
  const paidInvoices = await paidSubscriptionInvoices(reader, userId);
  const submit = { code, userId, plan, currency, moment, operation, paidInvoices, subscriptionId };
  const judged = await discounts.check(reader, submit);
  return 'problem' in judged ? judged : { granted: inPart(judged, discount.bases) };
}

/** A recurring discount as it applies to the charge lines of a change. */
const inPart = <D extends NonNullable<CalculatedInvoice['discount']>>(
  granted: D,
  bases: readonly ItemChange[] = [],
): D =>
  granted.recurring && bases.length > 0 ? { ...granted, terms: discountOfParts(granted.terms, bases) } : granted;

/** Promo credit where it is asked for: at a submit by the request, in the cycle by the config. */
async function promoTerms(reader: Reader, input: InvoiceInput, discounted: boolean): Promise<PromoTerms | undefined> {
  const { userId, currency, promo, reason } = input;
  if (userId === 0) return undefined;
  const { balance, terms } = await credits.balanceOf(reader, { userId, currency, type: 'promo' });
  const inCycle = reason === 'cycle' || reason === 'trialStep' || reason === 'last' || reason === 'usage';
  const asked = inCycle ? terms.recurring : (promo?.apply ?? terms.previewDefaultUsed);
  if (!asked || (discounted && terms.discountCodeExclusive)) return undefined;
  const cap = promo && promo.cap > 0 ? { cap: BigInt(promo.cap) } : {};
  return { balance, ...cap, exchangeRate: terms.exchangeRate, decimals: exponentOf(currency) };
}
