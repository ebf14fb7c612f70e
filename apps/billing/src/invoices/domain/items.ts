import type { Plan, PlanSnapshot } from '@recur/contracts';
import { clampToZero, min, ratio } from '@recur/kernel';
import type { DiscountSettings, Operation } from '../../discounts/domain/discount.js';
import type { DiscountTerms, ItemChange, LineKind } from '../../pricing/discount.js';
import type { Derivation } from '../../pricing/explain.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import type { TaxRate } from '../../pricing/tax.js';
import type { InvoiceLine } from './invoice.js';

/** Line of an earlier invoice that a credit line credits, with what it takes to do so. */
export interface CreditedSource {
  invoiceId: string;
  lineId: string;
  /** A credit is taxed as its source was. */
  rate: TaxRate;
  /** Promo credits that come back with it. */
  promoCredits: bigint;
}

/** Item that an invoice sells, or credits. */
export interface InvoiceItem {
  /** `plan`, `addon:<planId>` or `usage:<metricId>`. */
  key: string;
  kind: LineKind;
  planId: number;
  plan: Plan | null;
  name: string;
  description: string;
  unitAmount: bigint;
  quantity: number;
  /** The time that it sells; null for none. Usage is taxed at its last second. */
  period: ServicePeriod | null;
  /** How a prorated or metered amount came about. */
  derivation?: Derivation;
  source?: CreditedSource;
  metricCharge?: InvoiceLine['metricCharge'];
}

/**
 * The discount of an invoice: a code at its submit, or the one that the subscription is bound to. `bases` are those of the
 * periods of a change, where a fixed amount that recurs applies in part.
 */
export type InvoiceDiscount =
  | { is: 'code'; code: string; operation: Operation; bases?: readonly ItemChange[] }
  /** Bound to the subscription and reduces its cycle invoices. The cycle of an invoice that this one `replaces` is free. */
  | { is: 'bound'; discountId: number; code: string; replaces?: string }
  /** A one-time code whose use was reserved, waiting for the first invoice that it can reduce. */
  | { is: 'waiting'; discountId: number; code: string; useId: number }
  /** Terms for these lines alone: those of a bound discount for the charge lines of a change. */
  | { is: 'terms'; code: string; terms: DiscountTerms }
  /** Given with the request, and from then on bound to the subscription. */
  | {
      is: 'external';
      settings: Partial<DiscountSettings>;
      terms: DiscountTerms;
      recurring: boolean;
      bases?: readonly ItemChange[];
    };

/** The input of calculateInvoice: everything that an invoice of a subscription depends on but its parties. */
export interface InvoiceInput {
  subscriptionId: string;
  /** 0 for a user who is not known yet, in a preview. */
  userId: number;
  currency: string;
  reason: BillingReason;
  /** Name of the invoice, such as SubscriptionCycle. */
  name: string;
  /** The period that it bills. `kind` is '' where it is not the invoice of a period. */
  period: ServicePeriod & { kind: string; seq?: number };
  items: readonly InvoiceItem[];
  discount?: InvoiceDiscount;
  /** Promo credit as it is asked for: absent means as the config says. `cap` is in credits, 0 for none. */
  promo?: { apply?: boolean; cap: number };
  /** Percentage that an API key stated; 0 for none. */
  taxPercentage: number;
  vatNumber: string;
  countryCode: string;
  mainPlan: Plan;
  snapshot: PlanSnapshot;
  anchor: number;
  trialEnd: number;
  /** Unix second of a change. */
  prorationDate?: number;
  /** Unix second of the finish: the tax point of fees, and the time at which codes are judged. */
  moment: number;
}

/** Occasion of an invoice of a subscription. */
export type BillingReason =
  | 'create'
  | 'trialStep'
  | 'cycle'
  | 'upgrade'
  | 'downgrade'
  | 'renew'
  | 'last'
  | 'onetime'
  | 'usage';

/** Facts of an invoice that bills a subscription. */
export interface InvoicedPeriod {
  /** '' for an invoice of no subscription. */
  subscriptionId: string;
  billReason: BillingReason | '';
  /** Kind of the period that it is the invoice of: a period has at most one that is alive. '' for one of no period. */
  periodKind: string;
  /** Counts the invoices that were made for the same period, from 1. */
  periodSeq: number;
  /** Unix seconds; 0 for none. */
  periodStart: number;
  periodEnd: number;
  /** The subscription as it was when the invoice was made. */
  billed: SubscriptionSnapshot | null;
}

export interface SubscriptionSnapshot {
  planSnapshot: PlanSnapshot;
  billingCycleAnchor: number;
  trialEnd: number;
  /** Unix second of a change; 0 for none. */
  prorationDate: number;
  /** VAT number and country that were given with the order, in place of the user's; absent or '' for none. */
  vatNumber?: string;
  countryCode?: string;
}

export const withoutSubscription: InvoicedPeriod = {
  subscriptionId: '',
  billReason: '',
  periodKind: '',
  periodSeq: 0,
  periodStart: 0,
  periodEnd: 0,
  billed: null,
};

/** The part of a document about an invoice: it belongs to the subscription, and is not the invoice of a period. */
export const aboutSubscription = (original: InvoicedPeriod): InvoicedPeriod => {
  const { subscriptionId, periodStart, periodEnd, billed } = original;
  return { ...withoutSubscription, subscriptionId, periodStart, periodEnd, billed };
};

/**
 * A line of a paid document that sells time of a subscription and is in force: the only source of a credit. Money in
 * minor units.
 */
export interface CreditableLine {
  lineId: string;
  invoiceId: string;
  /** `plan` or `addon:<planId>`. */
  key: string;
  planId: number;
  plan: Plan | null;
  name: string;
  /** Price of the item for a full period. */
  unitAmount: bigint;
  quantity: number;
  period: ServicePeriod;
  /** After discount and promo credit, before tax; and what was credited of it in any way. */
  net: bigint;
  creditedNet: bigint;
  /** Share of the discount. */
  discount: bigint;
  /** Promo credits of its document and those that refunds gave back; its share of them is `share` of `total` in money. */
  promo: { credits: bigint; refunded: bigint; share: bigint; total: bigint };
  /** The rate at which it was taxed. */
  rate: TaxRate;
}

/**
 * Promo credits that come back with the unused part of a line: floor(credits × share × unused ÷ (total × seconds)), at most
 * what refunds left of the line's part, floor(credits × share ÷ total) − ceil(refunded × share ÷ total).
 */
export function promoCreditsBack(
  { promo }: Pick<CreditableLine, 'promo'>,
  unusedSeconds: bigint,
  seconds: bigint,
): bigint {
  const { credits, refunded, share, total } = promo;
  if (total === 0n) return 0n;
  const unused = ratio(credits * share, unusedSeconds, total * seconds, 'floor');
  const left = ratio(credits, share, total, 'floor') + ratio(-refunded, share, total, 'floor');
  return clampToZero(min(unused, left));
}

interface CreditLine {
  sourceLineId: string;
  inputs: Readonly<Record<string, number | string>> | null;
}

/** Promo credits that come back with a credit line. */
export const creditedPromo = ({ inputs }: Pick<CreditLine, 'inputs'>): bigint => BigInt(inputs?.promoCredits ?? 0);

/** Promo credits that come back with the credit lines of a document. */
export const promoReturnedBy = ({ lines }: { lines: readonly CreditLine[] }): bigint =>
  lines.reduce((total, line) => total + (line.sourceLineId === '' ? 0n : creditedPromo(line)), 0n);
