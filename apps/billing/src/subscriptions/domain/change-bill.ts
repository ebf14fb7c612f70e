import { type DiscountTerms, discountOfChange } from '../../pricing/discount.js';
import { chargePart, type Stretch } from '../../pricing/proration.js';
import type { BillItem } from './bill-types.js';
import { type PricedItem, priceOf, type Terms } from './changes.js';
import { creditItem, fullDiscount, type LineInForce, secondsOf, sellsAt, withScale } from './lines-in-force.js';

/** Item of a subscription with what a line shows of it. */
export interface ChangeItem extends PricedItem {
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
  from: Terms<ChangeItem>;
  to: Terms<ChangeItem>;
  /** Unix second at which it takes effect. */
  at: number;
  /** The current period, and the next one where its invoice is paid; in order. */
  periods: readonly PaidPeriod[];
  /** For another interval: the period that starts with the change, at the full price. */
  newPeriod?: Stretch;
  linesInForce: readonly LineInForce[];
  /** The discount that the charge lines carry; absent for none. */
  discount?: DiscountTerms;
}

/** Lines of a change, and what it does to those that are in force. */
export interface ChangeLines {
  items: BillItem[];
  /** Lines that end: they are never a source of credit again. */
  ended: LineInForce[];
  /** The discount on the charge lines. */
  discount?: DiscountTerms;
}

/**
 * The lines of a change: per period and per item that changed, plan first, a credit for the unused time of the line that
 * is in force and a charge for the rest of the period. For another interval everything is credited, and the new period is
 * charged in full.
 */
export function changeLines(change: TermsChange): ChangeLines {
  const { newPeriod, linesInForce, at } = change;
  const open = linesInForce.filter(line => sellsAt(line, at));
  return newPeriod
    ? restarted({ ...change, linesInForce: open }, newPeriod)
    : replaced({ ...change, linesInForce: open });
}

function restarted({ to, at, linesInForce: ended, discount }: TermsChange, newPeriod: Stretch): ChangeLines {
  const credits = inOrder(ended).map(line => creditItem(line, at));
  const charges = to.items.map(item => fullItem(item, newPeriod));
  return { items: [...credits, ...charges], ended: [...ended], ...(discount && { discount }) };
}

function replaced(change: TermsChange): ChangeLines {
  const { to, at, periods, linesInForce } = change;
  const touched = touchedKeys(change);
  const [items, ended]: [BillItem[], LineInForce[]] = [[], []];
  for (const period of periods) {
    const lines = linesInForce.filter(line => isWithin(line, period));
    for (const key of touched) {
      const credited = lines.filter(line => line.key === key);
      const item = to.items.find(each => each.key === key);
      items.push(...credited.map(line => creditItem(line, at)));
      if (item) items.push(partItem(item, { start: Math.max(at, period.start), end: period.end }, period.full));
      ended.push(...credited);
    }
  }
  const discount = discountOf(change, touched);
  return { items, ended, ...(discount && { discount }) };
}

/**
 * Keys of the items that are billed anew, plan first, then add-ons by id. An equal change bills nothing and leaves lines
 * that do not match their items; they are replaced together as soon as one of their items changes.
 */
function touchedKeys({ from, to, linesInForce, periods: [current] }: TermsChange): string[] {
  const changed = changedKeys(from, to);
  const now = linesInForce.filter(line => current && isWithin(line, current));
  const stray = mismatches(from.items, now);
  const rearranged = priceOf(from) === priceOf({ items: now }) && stray.some(key => changed.includes(key));
  return byKey([...new Set([...changed, ...(rearranged ? stray : [])])]);
}

/** Keys of the items that differ in plan, price or quantity. */
export function changedKeys(from: Pick<Terms, 'items'>, to: Pick<Terms, 'items'>): string[] {
  const keys = [...new Set([...from.items, ...to.items].map(({ key }) => key))];
  return keys.filter(key => !sameItem(find(from.items, key), find(to.items, key)));
}

const find = (items: readonly PricedItem[], key: string) => items.find(item => item.key === key);

const sameItem = (a: PricedItem | undefined, b: PricedItem | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.planId === b.planId &&
  a.unitAmount === b.unitAmount &&
  a.quantity === b.quantity;

/** Keys under which the price of an item is not that of its line in force. */
function mismatches(items: readonly PricedItem[], lines: readonly LineInForce[]): string[] {
  const keys = [...new Set([...items, ...lines].map(({ key }) => key))];
  const price = (list: readonly Pick<PricedItem, 'key' | 'unitAmount' | 'quantity'>[], key: string) =>
    priceOf({ items: list.filter(each => each.key === key) as PricedItem[] });
  return keys.filter(key => price(items, key) !== price(lines, key));
}

const isWithin = ({ stretch }: LineInForce, { start, end }: Stretch): boolean =>
  stretch.start >= start && stretch.end <= end;

/** A percentage applies as it is; of a fixed amount what the unchanged lines do not keep, for each period. */
function discountOf(change: TermsChange, touched: readonly string[]): DiscountTerms | undefined {
  const { discount, to, at, periods, linesInForce } = change;
  if (discount?.kind !== 'fixed') return discount;
  const parts = periods.map(period => {
    const kept = linesInForce.filter(line => isWithin(line, period) && !touched.includes(line.key));
    const terms = discountOfChange(discount, {
      newItemsBase: priceOf(to),
      keptShares: kept.reduce((total, line) => total + fullDiscount(line, period.full), 0n),
      leftSeconds: secondsOf({ start: Math.max(at, period.start), end: period.end }),
      periodSeconds: secondsOf(period.full),
    });
    return terms.kind === 'fixed' ? terms.amount : 0n;
  });
  return { kind: 'fixed', amount: parts.reduce((total, amount) => total + amount, 0n) };
}

/** An item for the whole of a period. */
export const fullItem = (item: ChangeItem, stretch: Stretch): BillItem => ({
  ...{ key: item.key, kind: item.kind, planId: item.planId, plan: item.plan },
  ...{ name: item.name, description: item.description },
  ...{ unitAmount: item.unitAmount, quantity: item.quantity, stretch },
});

/** An item for part of a period, with quantity 1 and the prorated amount. */
export function partItem(item: ChangeItem, part: Stretch, full: Stretch): BillItem {
  const { amount, derivation } = chargePart(item, part, full);
  return {
    ...fullItem(item, part),
    description: `Remaining time of ${item.quantity} × ${item.name}`,
    ...{ unitAmount: amount, quantity: 1 },
    derivation: withScale(derivation, part, full),
  };
}

/** Lines of the current period before those of the next, plan first, then add-ons by id. */
const inOrder = (lines: readonly LineInForce[]): LineInForce[] =>
  lines.toSorted((a, b) => a.stretch.start - b.stretch.start || orderOf(a.key) - orderOf(b.key));

const byKey = (keys: readonly string[]): string[] => keys.toSorted((a, b) => orderOf(a) - orderOf(b));

/** 0 for the plan, else the add-on's id. */
const orderOf = (key: string): number => (key === 'plan' ? 0 : Number(key.slice(key.indexOf(':') + 1)));
