import type { BillDiscount, SoldLine } from '../../../src/invoices/domain/items.js';
import { discountOfChanges, type ItemChange } from '../../../src/pricing/discount.js';
import {
  type BilledChangeLines,
  billedPeriods,
  linesNow,
  termsOf,
  type Update,
  updated,
  updateTo,
} from '../../../src/subscriptions/domain/apply-change.js';
import { type ChangePlan, planChange } from '../../../src/subscriptions/domain/changes.js';
import { isLivePeriod, type PeriodRow } from '../../../src/subscriptions/domain/periods.js';
import type { Subscription } from '../../../src/subscriptions/domain/subscription.js';
import type { Code, History, Wish } from './history.js';
import { choiceOf } from './terms.js';

/** A change as the rules of the service quote it. */
export interface Quote {
  plan: ChangePlan;
  update: Update;
  after: Subscription;
  lines: BilledChangeLines;
}

const nothing: BilledChangeLines = {
  items: [],
  ended: [],
  touched: [],
  shares: [],
  carriesDiscount: false,
  newPeriod: undefined,
};

/** Quotes a change at a time; undefined for one that changes nothing by the rules of the price. */
export function quoteOf(
  history: History,
  { sub, rows, sold, at }: { sub: Subscription; rows: readonly PeriodRow[]; sold: readonly SoldLine[]; at: number },
  wish: Wish,
  requested: 0 | 1 | 2,
): Quote | undefined {
  const periods = rows.filter(row => isLivePeriod(row) && row.endAt > at).toSorted((a, b) => a.startAt - b.startAt);
  const [current] = periods;
  const paidActive = current?.kind !== 'trial' && current?.kind !== 'free';
  const choice = choiceOf(history, wish);
  const paidAhead = !paidActive && billedPeriods(periods).length > 0;
  const context = { requested, paidActive, paidAhead, downgradeEffectImmediately: false, upgradeProration: true };
  const plan = planChange(
    termsOf(sub),
    termsOf(updated(sub, updateTo(sub, choice, { direction: 'upgrade', at }))),
    context,
  );
  // an equal change bills nothing and leaves lines at other prices: tested by itself
  if (plan.direction === 'equal' && requested === 0) return undefined;
  const update = updateTo(sub, choice, { direction: plan.direction, at });
  const after = updated(sub, update);
  const isBilled = plan.effect === 'now' && plan.billed;
  return { plan, update, after, lines: isBilled ? linesNow({ sub, after, sold }, plan, at, periods) : nothing };
}

/** The recurring discount on the charge lines of a change, where the lines in force carry it. */
export function boundTerms(
  code: Code | undefined,
  { discount }: Subscription,
  carriesDiscount: boolean,
  shares: readonly ItemChange[],
): BillDiscount | undefined {
  if (!code || !discount?.recurring || !carriesDiscount) return undefined;
  return { is: 'terms', code: 'C', terms: discountOfChanges(code.terms, shares) };
}
