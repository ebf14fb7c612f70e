import type { Stretch } from '../../pricing/proration.js';
import type { BoundDiscount } from '../domain/subscription.js';
import type { PendingUpdate } from './tables.js';

/** Terms that a change takes over when it takes effect, besides what it sells. */
export interface UpdateTerms {
  /** The period that starts with it. */
  newPeriod?: Stretch;
  discount: BoundDiscount | null;
  gatewayId: number;
  manualPayment: boolean;
  taxPercentage: number;
}

export const updateTermsOf = ({ terms }: PendingUpdate): UpdateTerms => terms as unknown as UpdateTerms;
