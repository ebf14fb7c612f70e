import { boundary, type Interval, ratio } from '@recur/kernel';
import type { CreditableLine, InvoiceItem } from '../../invoices/domain/items.js';
import type { ItemChange } from '../../pricing/discount.js';
import type { ServicePeriod } from '../../pricing/proration.js';
import { changeTerms } from './apply-change.js';
import { type ChangeDecision, sameInterval, type Terms, totalPrice } from './changes.js';
import { type Item, intervalOf, PLAN_KEY, sameItem } from './items.js';
import { creditItem, fullItem, isCreditableAt, partItem, type ShownItem, secondsIn } from './items-to-bill.js';
import { type PendingItem, pendingUntil } from './pending-items.js';
import type { PeriodRow } from './periods.js';
import { planOf, type Subscription } from './subscription.js';

/** A period that is paid for: the time that it covers, and the full interval that its price is for. */
export interface PaidPeriod extends ServicePeriod {
  full: ServicePeriod;
}

/** A change of what a subscription sells. */
export interface TermsChange {
  from: Terms;
  to: Terms<ShownItem>;
  /** Unix second at which it takes effect. */
  at: number;
  /** The current period, and the next one where its invoice is paid; in order. */
  periods: readonly PaidPeriod[];
  /** For another interval: the period that starts with the change, at the full price. */
  newPeriod?: ServicePeriod;
  sold: readonly CreditableLine[];
}

/** Lines of a change, and the creditable ones that it ends: they are never a source of credit again. */
export interface ChangeItems {
  items: InvoiceItem[];
  ended: CreditableLine[];
  /** Keys of the items that are billed again. */
  changedKeys: string[];
  /** Bases of a fixed discount on the charge lines, for each period. */
  discountBases: ItemChange[];
}

/**
 * The lines of a change: per period and per item that changed, plan first, a credit for the unused time of the line that
 * is in force and a charge for the rest of the period. For another interval everything is credited, and the new period is
 * charged in full.
 */
export function changeItems({ sold, ...change }: TermsChange): ChangeItems {
  const open = { ...change, sold: sold.filter(line => isCreditableAt(line, change.at)) };
  return change.newPeriod ? newPeriodChange(open, change.newPeriod) : midPeriodChange(open);
}

function newPeriodChange({ from, to, at, sold }: TermsChange, newPeriod: ServicePeriod): ChangeItems {
  const ended = planFirst(sold);
  const charges = to.items.map(item => fullItem(item, newPeriod));
  const share = { newItemsBase: totalPrice(to), keptShares: 0n, leftSeconds: 1n, periodSeconds: 1n };
  const changedKeys = [...new Set([...from.items, ...to.items].map(({ key }) => key))];
  return {
    items: [...ended.map(line => creditItem(line, at)), ...charges],
    ended,
    changedKeys,
    discountBases: [share],
  };
}

function midPeriodChange(change: TermsChange): ChangeItems {
  const { to, at, periods, sold } = change;
  const changedKeys = changedItemKeys(change);
  const lines: ChangeItems = { items: [], ended: [], changedKeys, discountBases: [] };
  for (const period of periods) {
    const inForce = sold.filter(line => isWithin(line, period));
    const rest = { start: Math.max(at, period.start), end: period.end };
    for (const key of changedKeys) {
      const credited = inForce.filter(line => line.key === key);
      const item = to.items.find(each => each.key === key);
      lines.items.push(...credited.map(line => creditItem(line, at)));
      if (item) lines.items.push(partItem(item, rest, period.full));
      lines.ended.push(...credited);
    }
    const kept = inForce.filter(line => !changedKeys.includes(line.key));
    lines.discountBases.push({
      newItemsBase: totalPrice(to),
      keptShares: kept.reduce((total, line) => total + fullDiscount(line, period.full), 0n),
      leftSeconds: secondsIn(rest),
      periodSeconds: secondsIn(period.full),
    });
  }
  return lines;
}

/**
 * Keys of the items that are billed again, plan first, then add-ons by id. An equal change bills nothing and leaves lines
 * that do not match their items; they are replaced together as soon as one of their items changes.
 */
function changedItemKeys({ from, to, sold, periods: [current] }: TermsChange): string[] {
  const changed = differingKeys(from, to);
  const now = sold.filter(line => current && isWithin(line, current));
  const stray = mismatches(from.items, now);
  const rearranged = totalPrice(from) === totalPrice({ items: now }) && stray.some(key => changed.includes(key));
  return byKey([...new Set([...changed, ...(rearranged ? stray : [])])]);
}

/** Keys of the items that differ in plan, price or quantity. */
function differingKeys(from: Pick<Terms, 'items'>, to: Pick<Terms, 'items'>): string[] {
  const keys = [...new Set([...from.items, ...to.items].map(({ key }) => key))];
  return keys.filter(key => !sameItem(find(from.items, key), find(to.items, key)));
}

const find = (items: readonly Item[], key: string) => items.find(item => item.key === key);

/** Keys under which the price of an item is not that of its creditable line. */
function mismatches(items: readonly Item[], lines: readonly CreditableLine[]): string[] {
  const keys = [...new Set([...items, ...lines].map(({ key }) => key))];
  const price = (list: readonly Pick<Item, 'key' | 'unitAmount' | 'quantity'>[], key: string) =>
    totalPrice({ items: list.filter(each => each.key === key) });
  return keys.filter(key => price(items, key) !== price(lines, key));
}

const isWithin = ({ period }: CreditableLine, { start, end }: ServicePeriod): boolean =>
  period.start >= start && period.end <= end;

/** Lines of the current period before those of the next, plan first, then add-ons by id. */
const planFirst = (lines: readonly CreditableLine[]): CreditableLine[] =>
  lines.toSorted((a, b) => a.period.start - b.period.start || itemOrder(a.key) - itemOrder(b.key));

const byKey = (keys: readonly string[]): string[] => keys.toSorted((a, b) => itemOrder(a) - itemOrder(b));

/** 0 for the plan, else the add-on's id. */
const itemOrder = (key: string): number => (key === 'plan' ? 0 : Number(key.slice(key.indexOf(':') + 1)));

/** The discount of a line for a full period. */
const fullDiscount = ({ discount, period }: CreditableLine, full: ServicePeriod): bigint =>
  discount === 0n ? 0n : ratio(discount, secondsIn(full), secondsIn(period), 'half-away-from-zero');

/** Lines of a change, whether the creditable ones carry a discount, and the period that starts with it. */
export interface BillableChange extends ChangeItems {
  carriesDiscount: boolean;
  newPeriod: ServicePeriod | undefined;
}

/** A change of a subscription to what it will be. */
interface ChangeOfSubscription {
  sub: Subscription;
  after: Subscription;
  sold: readonly CreditableLine[];
}

/** Live periods that are paid, in order, which a change bills again: those at the price of the plan, not trials or free time. */
export const billedPeriods = (periods: readonly PeriodRow[]): PeriodRow[] =>
  periods.filter(({ kind, state }) => state === 'paid' && (kind === 'cycle' || kind === 'stub'));

/** Lines of a change, and the lines that the subscription carries, with what was used of those that it ends. */
export interface ImmediateChange extends BillableChange {
  pending: PendingItem[];
}

/**
 * The interval of the periods that lines sell: that of their plan, which was changed since without proration; else that of
 * the subscription.
 */
export const intervalSold = (sub: Subscription, sold: readonly CreditableLine[]): Interval =>
  intervalOf(sold.find(({ key }) => key === PLAN_KEY)?.plan ?? planOf(sub));

/**
 * Lines of a change at `at`, in the live periods from then on. In a trial or a free period only a next period that is
 * paid is billed again, and another interval begins with it.
 */
export function itemsOfImmediateChange(
  { sub, after, sold }: ChangeOfSubscription,
  { newInterval }: Pick<ChangeDecision, 'newInterval'>,
  at: number,
  periods: readonly PeriodRow[],
): ImmediateChange {
  const rows = billedPeriods(periods);
  const interval = intervalOf(planOf(after));
  const start = Math.max(at, rows[0]?.startAt ?? at);
  const end = boundary(start, 1, interval, sub.timeZone);
  const paid = rows.map(row => paidPeriod(sub, row));
  const inPaid = sold.filter(({ period }) => paid.some(each => isIn(period, each)));
  const isOther = newInterval || !sameInterval(intervalSold(sub, inPaid), interval);
  const lines = billableChange({ sub, after, sold: inPaid }, at, paid, isOther ? { start, end } : undefined);
  const isEnded = (line: PendingItem) =>
    lines.changedKeys.includes(line.key) && paid.some(period => isIn(line, period));
  return { ...lines, pending: pendingUntil(sub.carried, at, isEnded) };
}

const isIn = (part: ServicePeriod, period: ServicePeriod): boolean =>
  part.start >= period.start && part.end <= period.end;

/**
 * Lines of a deferred change whose next period is paid: what changed is credited in full and charged again, everything for
 * another interval, which begins there.
 */
export function itemsOfDeferredChange({ sub, after, sold }: ChangeOfSubscription, next: PeriodRow): BillableChange {
  const { startAt: start } = next;
  const interval = intervalOf(planOf(after));
  const newPeriod = { start, end: boundary(start, 1, interval, sub.timeZone) };
  const isOther = !sameInterval(intervalSold(sub, sold), interval);
  return billableChange({ sub, after, sold }, start, [paidPeriod(sub, next)], isOther ? newPeriod : undefined);
}

function billableChange(
  { sub, after, sold }: ChangeOfSubscription,
  at: number,
  periods: readonly PaidPeriod[],
  newPeriod: ServicePeriod | undefined,
): BillableChange {
  const change = { from: changeTerms(sub), to: changeTerms(after), at, sold, periods };
  const lines = changeItems({ ...change, ...(newPeriod && { newPeriod }) });
  return { ...lines, newPeriod, carriesDiscount: sold.some(({ discount }) => discount > 0n) };
}

/** A stub is priced as part of the full interval from its start. */
function paidPeriod(sub: Subscription, { kind, startAt: start, endAt: end }: PeriodRow): PaidPeriod {
  const full = kind === 'stub' ? boundary(start, 1, intervalOf(planOf(sub)), sub.timeZone) : end;
  return { start, end, full: { start, end: full } };
}
