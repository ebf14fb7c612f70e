import { ratio } from '@recur/kernel';
import { type BillItem, promoBack, type SoldLine } from '../../invoices/domain/items.js';
import type { ItemChange } from '../../pricing/discount.js';
import { chargePart, creditUnused, type Stretch } from '../../pricing/proration.js';
import { priceOf, type Terms } from './changes.js';
import type { Item } from './items.js';

/** Item of a subscription with what a line shows of it. */
export interface ShownItem extends Item {
  kind: 'plan' | 'addon';
  plan: BillItem['plan'];
  name: string;
  description: string;
}

/** A period that is paid for: the time that it covers, and the full interval that its price is for. */
export interface PaidPeriod extends Stretch {
  full: Stretch;
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
  newPeriod?: Stretch;
  sold: readonly SoldLine[];
}

/** Lines of a change, and those in force that it ends: they are never a source of credit again. */
export interface ChangeLines {
  items: BillItem[];
  ended: SoldLine[];
  /** Keys of the items that are billed anew. */
  touched: string[];
  /** Bases of a fixed discount on the charge lines, for each period. */
  shares: ItemChange[];
}

/**
 * The lines of a change: per period and per item that changed, plan first, a credit for the unused time of the line that
 * is in force and a charge for the rest of the period. For another interval everything is credited, and the new period is
 * charged in full.
 */
export function changeLines({ sold, ...change }: TermsChange): ChangeLines {
  const open = { ...change, sold: sold.filter(line => sellsAt(line, change.at)) };
  return change.newPeriod ? restarted(open, change.newPeriod) : replaced(open);
}

function restarted({ from, to, at, sold }: TermsChange, newPeriod: Stretch): ChangeLines {
  const ended = inOrder(sold);
  const charges = to.items.map(item => fullItem(item, newPeriod));
  const share = { newItemsBase: priceOf(to), keptShares: 0n, leftSeconds: 1n, periodSeconds: 1n };
  const touched = [...new Set([...from.items, ...to.items].map(({ key }) => key))];
  return { items: [...ended.map(line => creditItem(line, at)), ...charges], ended, touched, shares: [share] };
}

function replaced(change: TermsChange): ChangeLines {
  const { to, at, periods, sold } = change;
  const touched = touchedKeys(change);
  const lines: ChangeLines = { items: [], ended: [], touched, shares: [] };
  for (const period of periods) {
    const inForce = sold.filter(line => isWithin(line, period));
    const rest = { start: Math.max(at, period.start), end: period.end };
    for (const key of touched) {
      const credited = inForce.filter(line => line.key === key);
      const item = to.items.find(each => each.key === key);
      lines.items.push(...credited.map(line => creditItem(line, at)));
      if (item) lines.items.push(partItem(item, rest, period.full));
      lines.ended.push(...credited);
    }
    const kept = inForce.filter(line => !touched.includes(line.key));
    lines.shares.push({
      newItemsBase: priceOf(to),
      keptShares: kept.reduce((total, line) => total + fullDiscount(line, period.full), 0n),
      leftSeconds: secondsOf(rest),
      periodSeconds: secondsOf(period.full),
    });
  }
  return lines;
}

/**
 * Keys of the items that are billed anew, plan first, then add-ons by id. An equal change bills nothing and leaves lines
 * that do not match their items; they are replaced together as soon as one of their items changes.
 */
function touchedKeys({ from, to, sold, periods: [current] }: TermsChange): string[] {
  const changed = changedKeys(from, to);
  const now = sold.filter(line => current && isWithin(line, current));
  const stray = mismatches(from.items, now);
  const rearranged = priceOf(from) === priceOf({ items: now }) && stray.some(key => changed.includes(key));
  return byKey([...new Set([...changed, ...(rearranged ? stray : [])])]);
}

/** Keys of the items that differ in plan, price or quantity. */
export function changedKeys(from: Pick<Terms, 'items'>, to: Pick<Terms, 'items'>): string[] {
  const keys = [...new Set([...from.items, ...to.items].map(({ key }) => key))];
  return keys.filter(key => !sameItem(find(from.items, key), find(to.items, key)));
}

const find = (items: readonly Item[], key: string) => items.find(item => item.key === key);

export const sameItem = (a: Item | undefined, b: Item | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.planId === b.planId &&
  a.unitAmount === b.unitAmount &&
  a.quantity === b.quantity;

/** Keys under which the price of an item is not that of its line in force. */
function mismatches(items: readonly Item[], lines: readonly SoldLine[]): string[] {
  const keys = [...new Set([...items, ...lines].map(({ key }) => key))];
  const price = (list: readonly Pick<Item, 'key' | 'unitAmount' | 'quantity'>[], key: string) =>
    priceOf({ items: list.filter(each => each.key === key) });
  return keys.filter(key => price(items, key) !== price(lines, key));
}

const isWithin = ({ stretch }: SoldLine, { start, end }: Stretch): boolean =>
  stretch.start >= start && stretch.end <= end;

/** An item for the whole of a period. */
export const fullItem = (item: ShownItem, stretch: Stretch): BillItem => ({
  key: item.key,
  kind: item.kind,
  planId: item.planId,
  plan: item.plan,
  name: item.name,
  description: item.description,
  unitAmount: item.unitAmount,
  quantity: item.quantity,
  stretch,
});

/** An item for part of a period, with quantity 1 and the prorated amount. */
export function partItem(item: ShownItem, part: Stretch, full: Stretch): BillItem {
  const { amount, derivation } = chargePart(item, part, full);
  return {
    ...fullItem(item, part),
    description: `Remaining time of ${item.quantity} × ${item.name}`,
    unitAmount: amount,
    quantity: 1,
    derivation,
  };
}

/** Lines of the current period before those of the next, plan first, then add-ons by id. */
const inOrder = (lines: readonly SoldLine[]): SoldLine[] =>
  lines.toSorted((a, b) => a.stretch.start - b.stretch.start || orderOf(a.key) - orderOf(b.key));

const byKey = (keys: readonly string[]): string[] => keys.toSorted((a, b) => orderOf(a) - orderOf(b));

/** 0 for the plan, else the add-on's id. */
const orderOf = (key: string): number => (key === 'plan' ? 0 : Number(key.slice(key.indexOf(':') + 1)));

/**
 * The unused time of a line from `at` on, as an item: at its own rate, naming its line. At most what is left of its net.
 */
export function creditItem(line: SoldLine, at: number): BillItem {
  const start = Math.max(at, line.stretch.start);
  const unused = { start, end: line.stretch.end };
  const { amount, derivation } = creditUnused(line, line.stretch, start);
  const promoCredits = promoBack(line, secondsOf(unused), secondsOf(line.stretch));
  return {
    key: line.key,
    kind: 'credit',
    planId: line.planId,
    plan: line.plan,
    name: line.name,
    description: `Unused time of ${line.quantity} × ${line.name}`,
    unitAmount: amount,
    quantity: 1,
    stretch: unused,
    derivation:
      promoCredits === 0n
        ? derivation
        : { ...derivation, inputs: { ...derivation.inputs, promoCredits: Number(promoCredits) } },
    source: { lineId: line.lineId, invoiceId: line.invoiceId, rate: line.rate, promoCredits },
  };
}

/** True if a line still sells time at `at`. */
export const sellsAt = ({ stretch }: SoldLine, at: number): boolean => stretch.end > at;

/** The discount of a line for a full period. */
export const fullDiscount = ({ discount, stretch }: SoldLine, full: Stretch): bigint =>
  discount === 0n ? 0n : ratio(discount, secondsOf(full), secondsOf(stretch), 'half-away-from-zero');

export const secondsOf = ({ start, end }: Stretch): bigint => BigInt(end - start);
