import type { In, submitChange } from '@recur/contracts';
import type { Gateway } from '../../gateways/domain/gateway.js';
import type { Composed } from '../../invoicing/composed/compose.js';
import type { Stretch } from '../../pricing/proration.js';
import type { BilledPart } from '../../usage/verbs.js';
import type { Update } from '../domain/apply-change.js';
import { type CarriedLine, carriedLine } from '../domain/carried.js';
import type { ChangeLines } from '../domain/change-bill.js';
import type { ChangeMode, ChangePlan } from '../domain/changes.js';
import type { PeriodRow } from '../domain/periods.js';
import type { Subscription } from '../domain/subscription.js';
import type { Settings } from '../tables.js';

type Submit = In<typeof submitChange>;
/** Terms of update_preview and update_submit; what only the latter has is optional. */
export type ChangeInput = Pick<
  Submit,
  'newPlanId' | 'addonParams' | 'applyPromoCredit' | 'applyPromoCreditAmount' | 'currency' | 'discountCode'
> &
  Pick<Submit, 'effectImmediate' | 'gatewayId' | 'prorationDate' | 'vatCountryCode' | 'vatNumber'> &
  Partial<Pick<Submit, 'discount' | 'productData' | 'quantity' | 'taxPercentage'>>;

/** A change as it would be carried out, with what it bills now composed. */
export interface ChangeQuote {
  /** The subscription as it is, and as it will be. */
  sub: Subscription;
  after: Subscription;
  update: Update;
  mode: ChangeMode;
  plan: ChangePlan;
  /** Unix second at which it is priced. */
  at: number;
  /** Live periods from then on: the current one, and the next one where it has an invoice. */
  periods: PeriodRow[];
  /** The period that starts with the change. */
  newPeriod: Stretch | undefined;
  /** The usage up to the change that is billed with it: of metrics whose price it alters, or of all with a new period. */
  ended: BilledPart;
  composed: Composed;
  /**
   * Unbilled lines, of the subscription and of the open next invoice, which the change withdraws: those that its bill sets
   * off, or those that it leaves to the next invoice. One of the two is empty.
   */
  setOff: readonly CarriedLine[];
  kept: readonly CarriedLine[];
  gateway: Gateway | undefined;
  settings: Settings;
}

/** Lines of a change that are billed now, and whether the lines in force carry a discount. */
export interface BilledLines extends Pick<ChangeLines, 'items' | 'shares'> {
  carriesDiscount: boolean;
}

/** Lines of a bill that stays below the gateway's minimum. */
export const carriedOf = ({ bill, composition }: Composed): CarriedLine[] =>
  bill.items.map((item, at) => carriedLine(item, composition.lines[at]?.net ?? 0n));
