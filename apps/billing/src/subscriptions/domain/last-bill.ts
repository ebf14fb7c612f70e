import type { Bill, BillItem } from '../../invoicing/composed/domain/bill.js';
import type { SoldLine } from '../../invoicing/composed/domain/sold-line.js';
import { common } from './bill.js';
import { carriedItem } from './carried.js';
import { creditItem, sellsAt } from './lines-in-force.js';
import type { Subscription } from './subscription.js';

/** When the usage of a subscription that ends at a second is over: that second counts, since a test clock stands still. */
export const lastUsageEnd = ({ currentPeriodEnd }: Pick<Subscription, 'currentPeriodEnd'>, at: number): number =>
  Math.min(at + 1, currentPeriodEnd);

/** The end of a subscription. */
export interface Ending {
  /** Unix second at which it ends. */
  at: number;
  /** End of the current period. */
  periodEnd: number;
  /** True to credit the unused time of the current period. */
  prorate: boolean;
  /** True to bill the usage since the period's start on the same document. */
  invoiceNow: boolean;
  sold: readonly SoldLine[];
  /** Charges for usage since the period's start, and lines carried so far. */
  usage: readonly BillItem[];
}

/** Lines of an ending, what ends, and usage that is not billed. */
export interface LastLines {
  items: BillItem[];
  ended: SoldLine[];
  dropped: BillItem[];
}

/**
 * The lines of an ending. A next period that is paid is credited in full, whatever is asked; the current one where it is
 * to be prorated. Usage is billed at once, or dropped.
 */
export function lastLines({ at, periodEnd, prorate, invoiceNow, sold, usage }: Ending): LastLines {
  const open = sold.filter(line => sellsAt(line, at));
  const ended = open.filter(({ stretch }) => prorate || stretch.start >= periodEnd);
  const credits = ended.map(line => creditItem(line, at));
  return {
    items: invoiceNow ? [...credits, ...usage] : credits,
    ended,
    dropped: invoiceNow ? [] : [...usage],
  };
}

/** `usage`: usage alone, of a cancelled invoice that is not made again, or what came before the grace of an end was over. */
export type LastKind = 'last' | 'usage';

/** The last bill of a subscription. Carried lines come first. */
export const lastBill = (sub: Subscription, items: readonly BillItem[], at: number, kind: LastKind): Bill => ({
  ...common(sub, at),
  reason: kind,
  name: 'SubscriptionCancel',
  period: { kind: '', start: sub.currentPeriodStart, end: at },
  items: [...sub.carried.map(carriedItem), ...items],
});
