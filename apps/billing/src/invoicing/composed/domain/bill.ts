import type { Plan, PlanSnapshot } from '@recur/contracts';
import type { Operation, Settings } from '../../../discounts/domain/discount.js';
import type { DiscountTerms, ItemChange, LineKind } from '../../../pricing/discount.js';
import type { Derivation } from '../../../pricing/explain.js';
import type { Stretch } from '../../../pricing/proration.js';
import type { TaxRate } from '../../../pricing/tax.js';
import type { InvoiceLine } from '../../domain/invoice.js';
import type { BillReason } from './facts.js';

/** Line of an earlier invoice that a credit line gives back, with what it takes to do so. */
export interface SourceLine {
  invoiceId: string;
  lineId: string;
  /** A credit is taxed as its source was. */
  rate: TaxRate;
  /** Promo credits that come back with it. */
  promoCredits: bigint;
}

/** Item that a bill sells, or gives back. */
export interface BillItem {
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
  stretch: Stretch | null;
  /** How a prorated or metered amount came about. */
  derivation?: Derivation;
  source?: SourceLine;
  metricCharge?: InvoiceLine['metricCharge'];
}

/**
 * The discount of a bill: a code at its submit, or the one that the subscription is bound to. `shares` are those of the
 * periods of a change, where a fixed amount that recurs applies in part.
 */
export type BillDiscount =
  | { is: 'code'; code: string; operation: Operation; shares?: readonly ItemChange[] }
  /** Bound to the subscription and reduces its cycle invoices. The cycle of an invoice that this one `replaces` is free. */
  | { is: 'bound'; discountId: number; code: string; replaces?: string }
  /** A one-time code whose use was reserved, waiting for the first invoice that it can reduce. */
  | { is: 'waiting'; discountId: number; code: string; useId: number }
  /** Terms for these lines alone: those of a bound discount for the charge lines of a change. */
  | { is: 'terms'; code: string; terms: DiscountTerms }
  /** Given with the request, and from then on bound to the subscription. */
  | {
      is: 'external';
      settings: Partial<Settings>;
      terms: DiscountTerms;
      recurring: boolean;
      shares?: readonly ItemChange[];
    };

/** The input of the composer: everything that an invoice of a subscription depends on but the facts of its parties. */
export interface Bill {
  subscriptionId: string;
  /** 0 for a user who is not known yet, in a preview. */
  userId: number;
  currency: string;
  reason: BillReason;
  /** Name of the invoice, such as SubscriptionCycle. */
  name: string;
  /** The period that it bills. `kind` is '' where it is not the invoice of a period. */
  period: Stretch & { kind: string; seq?: number };
  items: readonly BillItem[];
  discount?: BillDiscount;
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
