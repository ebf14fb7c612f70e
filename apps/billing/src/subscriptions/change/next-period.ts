import type { Reader, Tx } from '@recur/platform';
import { soldIn, soldLines } from '../../invoices/crediting/creditable-lines.js';
import { isUndecided } from '../../invoices/domain/charge.js';
import type { Bill, SoldLine } from '../../invoices/domain/items.js';
import { invoiceAggregate } from '../../invoices/views.js';
import type { Stretch } from '../../pricing/proration.js';
import { changeBill, linesAnew, sells } from '../domain/apply-change.js';
import { type PeriodRow, sellsPlan } from '../domain/periods.js';
import type { Subscription } from '../domain/subscription.js';
import { boundTerms } from './discount.js';

/** Lines of the next period, and whether they are paid or about to be. */
export interface NextLines {
  lines: readonly SoldLine[];
  isTaken: boolean;
}

/** The lines that bill a next period: those of its open invoice; once that is paid, with what changes made of them. */
export async function nextLines(tx: Tx, { subscriptionId, invoiceId, startAt, state }: PeriodRow): Promise<NextLines> {
  if (state === 'paid') return { lines: await soldLines(tx, subscriptionId, startAt), isTaken: true };
  const invoice = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
  return { lines: soldIn(invoice, invoice.lines, startAt), isTaken: isUndecided(invoice.payment) };
}

/** The bill of a deferred change whose next period is paid for something else, the lines that it ends, and the period. */
export interface ChargedAnew {
  bill: Bill;
  ended: readonly SoldLine[];
  /** The next period, where it has another interval. */
  newPeriod: Stretch | undefined;
}

/**
 * The bill of a deferred change whose next period is paid, which is credited in full and charged anew; undefined where that
 * sells what the subscription sells after the change. In a transaction the lines are locked.
 */
export async function chargedAnew(
  reader: Reader,
  { sub, after }: { sub: Subscription; after: Subscription },
  next: PeriodRow,
): Promise<ChargedAnew | undefined> {
  if (!sellsPlan(next)) return undefined;
  const at = next.startAt;
  const sold = await soldLines(reader, sub.subscriptionId, at);
  if (sells(after, sold)) return undefined;
  const { items, ended, shares, newPeriod, carriesDiscount } = linesAnew({ sub, after, sold }, next);
  const discount = await boundTerms(reader, { sub, after }, { items, shares, carriesDiscount });
  const change = { direction: 'downgrade', at, periodEnd: newPeriod?.end ?? next.endAt, items, discount } as const;
  return { bill: changeBill(after, change), ended, newPeriod };
}
