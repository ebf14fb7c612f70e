import type { Plan } from '@recur/contracts';
import type { LineKind } from '../../pricing/discount.js';
import type { Derivation } from '../../pricing/explain.js';
import type { Stretch } from '../../pricing/proration.js';
import type { TaxRate } from '../../pricing/tax.js';

/** Line of an earlier document that a credit line gives back, at the rate at which it was taxed. */
export interface SourceLine {
  lineId: string;
  invoiceId: string;
  rate: TaxRate;
  /** Promo credits that come back with it. */
  promoCredits: bigint;
}

export interface BillItem {
  /** 'plan', 'addon:<id>' or 'usage:<metric>'. */
  key: string;
  kind: LineKind;
  planId: number;
  plan: Plan | null;
  name: string;
  description: string;
  /** Minor units; negative on a credit line. */
  unitAmount: bigint;
  quantity: number;
  stretch: Stretch | null;
  derivation?: Derivation;
  source?: SourceLine;
}
