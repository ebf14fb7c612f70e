import type { PlanSnapshot } from '@recur/contracts';

/** Occasion of an invoice of a subscription. */
export type BillReason =
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
export interface SubscriptionFacts {
  /** '' for an invoice of no subscription. */
  subscriptionId: string;
  billReason: BillReason | '';
  /** Kind of the period that it is the invoice of: a period has at most one that is alive. '' for one of no period. */
  periodKind: string;
  /** Counts the invoices that were made for the same period, from 1. */
  periodSeq: number;
  /** Unix seconds; 0 for none. */
  periodStart: number;
  periodEnd: number;
  /** The subscription as it was when the invoice was made. */
  billed: BilledSubscription | null;
}

export interface BilledSubscription {
  planSnapshot: PlanSnapshot;
  billingCycleAnchor: number;
  trialEnd: number;
  /** Unix second of a change; 0 for none. */
  prorationDate: number;
  /** VAT number and country that were given with the order, in place of the user's; absent or '' for none. */
  vatNumber?: string;
  countryCode?: string;
}

export const withoutSubscription: SubscriptionFacts = {
  subscriptionId: '',
  billReason: '',
  periodKind: '',
  periodSeq: 0,
  periodStart: 0,
  periodEnd: 0,
  billed: null,
};

/** The facts of a document about an invoice: it belongs to the subscription, and is not the invoice of a period. */
export const subscriptionOf = (original: SubscriptionFacts): SubscriptionFacts => {
  const { subscriptionId, periodStart, periodEnd, billed } = original;
  return { ...withoutSubscription, subscriptionId, periodStart, periodEnd, billed };
};
