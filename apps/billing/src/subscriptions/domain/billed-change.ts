import { boundary } from '@recur/kernel';
import type { SoldLine } from '../../invoicing/composed/domain/sold-line.js';
import type { Stretch } from '../../pricing/proration.js';
import { termsOf } from './apply-change.js';
import { type CarriedLine, usedUntil } from './carried.js';
import { type ChangeLines, changeLines, type PaidPeriod } from './change-bill.js';
import { type ChangePlan, sameInterval } from './changes.js';
import { intervalOf } from './items.js';
import type { PeriodRow } from './periods.js';
import { planOf, type Subscription } from './subscription.js';

/** Lines of a change, whether those in force carry a discount, and the period that starts with it. */
export interface BilledChangeLines extends ChangeLines {
  carriesDiscount: boolean;
  newPeriod: Stretch | undefined;
}

/** A change of a subscription to what it will be. */
interface Changed {
  sub: Subscription;
  after: Subscription;
  sold: readonly SoldLine[];
}

/** Live periods that are paid, in order, which a change bills anew: those at the price of the plan, not trials or free time. */
export const billedPeriods = (periods: readonly PeriodRow[]): PeriodRow[] =>
  periods.filter(({ kind, state }) => state === 'paid' && (kind === 'cycle' || kind === 'stub'));

/** Lines of a change, and the lines that the subscription carries, with what was used of those that it ends. */
export interface LinesNow extends BilledChangeLines {
  carried: CarriedLine[];
}

/**
 * Lines of a change at `at`, in the live periods from then on. In a trial or a free stretch only a next period that is
 * paid is billed anew, and another interval begins with it.
 */
export function linesNow(
  { sub, after, sold }: Changed,
  { newInterval }: Pick<ChangePlan, 'newInterval'>,
  at: number,
  periods: readonly PeriodRow[],
): LinesNow {
  const rows = billedPeriods(periods);
  const start = Math.max(at, rows[0]?.startAt ?? at);
  const end = boundary(start, 1, intervalOf(planOf(after)), sub.timeZone);
  const paid = rows.map(row => paidPeriod(sub, row));
  const inPaid = sold.filter(({ stretch }) => paid.some(period => isIn(stretch, period)));
  const lines = billed({ sub, after, sold: inPaid }, at, paid, newInterval ? { start, end } : undefined);
  const isEnded = (line: CarriedLine) => lines.touched.includes(line.key) && paid.some(period => isIn(line, period));
  return { ...lines, carried: usedUntil(sub.carried, at, isEnded) };
}

const isIn = (stretch: Stretch, period: Stretch): boolean => stretch.start >= period.start && stretch.end <= period.end;

/**
 * Lines of a deferred change whose next period is paid: what changed is credited in full and charged anew, everything for
 * another interval, which begins there.
 */
export function linesAnew({ sub, after, sold }: Changed, next: PeriodRow): BilledChangeLines {
  const { startAt: start } = next;
  const interval = intervalOf(planOf(after));
  const newPeriod = { start, end: boundary(start, 1, interval, sub.timeZone) };
  const isOther = !sameInterval(intervalOf(planOf(sub)), interval);
  return billed({ sub, after, sold }, start, [paidPeriod(sub, next)], isOther ? newPeriod : undefined);
}

function billed(
  { sub, after, sold }: Changed,
  at: number,
  periods: readonly PaidPeriod[],
  newPeriod: Stretch | undefined,
): BilledChangeLines {
  const change = { from: termsOf(sub), to: termsOf(after), at, sold, periods };
  const lines = changeLines({ ...change, ...(newPeriod && { newPeriod }) });
  return { ...lines, newPeriod, carriesDiscount: sold.some(({ discount }) => discount > 0n) };
}

/** A stub is priced as part of the full interval from its start. */
function paidPeriod(sub: Subscription, { kind, startAt: start, endAt: end }: PeriodRow): PaidPeriod {
  const full = kind === 'stub' ? boundary(start, 1, intervalOf(planOf(sub)), sub.timeZone) : end;
  return { start, end, full: { start, end: full } };
}
