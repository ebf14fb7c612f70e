import type { Reader, Tx } from '@recur/platform';
import { creditableIn, creditableLines } from '../../invoices/crediting/creditable-lines.js';
import { isUndecided } from '../../invoices/domain/charge.js';
import type { CreditableLine, InvoiceInput } from '../../invoices/domain/items.js';
import { invoiceAggregate } from '../../invoices/views.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import { sellsItems } from '../domain/apply-change.js';
import { itemsOfDeferredChange } from '../domain/change-items.js';
import { changeInput } from '../domain/invoice-input.js';
import { type PeriodRow, sellsPlan } from '../domain/periods.js';
import type { Subscription } from '../domain/subscription.js';
import { boundTerms } from './discount.js';

/** Lines of the next period, and whether they are paid or about to be. */
export interface NextLines {
  lines: readonly CreditableLine[];
  isTaken: boolean;
}

/** The lines that bill a next period: those of its open invoice; once that is paid, with what changes made of them. */
export async function nextLines(tx: Tx, { subscriptionId, invoiceId, startAt, state }: PeriodRow): Promise<NextLines> {
  if (state === 'paid') return { lines: await creditableLines(tx, subscriptionId, startAt), isTaken: true };
  const invoice = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
  return { lines: creditableIn(invoice, invoice.lines, startAt), isTaken: isUndecided(invoice.payment) };
}

/** The invoice of a deferred change whose next period is paid for something else, the lines that it ends, and the period. */
export interface NewPeriodCharge {
  input: InvoiceInput;
  ended: readonly CreditableLine[];
  /** The next period, where it has another interval. */
  newPeriod: ServicePeriod | undefined;
}

/**
 * The invoice of a deferred change whose next period is paid, which is credited in full and charged again; undefined where that
 * sells what the subscription sells after the change. In a transaction the lines are locked.
 */
export async function newPeriodCharge(
  reader: Reader,
  { sub, after }: { sub: Subscription; after: Subscription },
  next: PeriodRow,
): Promise<NewPeriodCharge | undefined> {
  if (!sellsPlan(next)) return undefined;
  const at = next.startAt;
  const sold = await creditableLines(reader, sub.subscriptionId, at);
  if (sellsItems(after, sold)) return undefined;
  const { items, ended, discountBases, newPeriod, carriesDiscount } = itemsOfDeferredChange({ sub, after, sold }, next);
  const discount = await boundTerms(reader, { sub, after }, { items, discountBases, carriesDiscount });
  const change = { direction: 'downgrade', at, periodEnd: newPeriod?.end ?? next.endAt, items, discount } as const;
  return { input: changeInput(after, change), ended, newPeriod };
}
