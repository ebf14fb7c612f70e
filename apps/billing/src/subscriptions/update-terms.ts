import type { Stretch } from '../pricing/proration.js';
import { deferred, type Update } from './domain/apply-change.js';
import type { CarriedLine } from './domain/carried.js';
import type { BoundDiscount, Subscription } from './domain/subscription.js';
import type { PendingUpdate } from './tables.js';

/** Terms that a change takes over when it takes effect, besides what it sells. */
export interface UpdateTerms {
  /** The period that starts with it. */
  newPeriod?: Stretch;
  discount: BoundDiscount | null;
  gatewayId: number;
  /** The method that is charged from then on; absent for the one before. */
  paymentMethodId?: string;
  manualPayment: boolean;
  taxPercentage: number;
  /** VAT number and country that are the buyer's from then on; absent for those before. */
  vatNumber?: string;
  countryCode?: string;
  /** Unbilled lines of the subscription that its invoice sets off. */
  carried?: readonly CarriedLine[];
  /** The content of the submit: an equal one is answered with this change. */
  asked?: string;
}

/** The discount of a submit by now: a code that waited then may have reduced an invoice since. */
export const chosenByNow = (chosen: BoundDiscount | null, now: BoundDiscount | null): BoundDiscount | null =>
  chosen && chosen.waitingUseId > 0 && chosen.waitingUseId !== now?.waitingUseId ? null : chosen;

export const updateTermsOf = ({ terms }: Pick<PendingUpdate, 'terms'>): UpdateTerms => terms as unknown as UpdateTerms;

/** A change of the period after the current one, with the terms that it takes over. */
export type DeferredUpdate = Update & Pick<PendingUpdate, 'terms'>;

/** The subscription with its deferred change, at the end of its current period. */
export function afterDeferred(sub: Subscription, update: DeferredUpdate): Subscription {
  const { discount, manualPayment } = updateTermsOf(update);
  return {
    ...deferred(sub, update),
    discount,
    ...taxedAfter(sub, update),
    ...meansAfter(sub, update),
    manualPayment: manualPayment || sub.manualPayment,
  };
}

/** The percentage, VAT number and country with which a subscription is taxed after a change. */
export function taxedAfter(sub: Subscription, update: Pick<PendingUpdate, 'terms'>) {
  const { taxPercentage, vatNumber = sub.vatNumber, countryCode = sub.countryCode } = updateTermsOf(update);
  return { taxPercentage, vatNumber, countryCode };
}

/** The gateway and method by which a subscription is charged after a change: a method belongs to its gateway. */
export function meansAfter(sub: Subscription, update: Pick<PendingUpdate, 'terms'>) {
  const { gatewayId: chosen, paymentMethodId = '' } = updateTermsOf(update);
  const gatewayId = chosen || sub.gatewayId;
  const before = gatewayId === sub.gatewayId ? sub.paymentMethodId : '';
  return { gatewayId, paymentMethodId: paymentMethodId || before };
}
