import type { Code, Wish } from '../../../../../tools/journeys/model/terms.js';
import type { CreditableLine, InvoiceDiscount } from '../../../src/invoices/domain/items.js';
import { discountOfParts, type ItemChange } from '../../../src/pricing/discount.js';
import { changeTerms, type Update, updateTo, withChange } from '../../../src/subscriptions/domain/apply-change.js';
import {
  type BillableChange,
  billedPeriods,
  itemsOfImmediateChange,
} from '../../../src/subscriptions/domain/change-items.js';
import { type ChangeDecision, decideChange, type RequestedEffect } from '../../../src/subscriptions/domain/changes.js';
import { isLivePeriod, type PeriodRow } from '../../../src/subscriptions/domain/periods.js';
import type { Subscription } from '../../../src/subscriptions/domain/subscription.js';
import type { History } from './history.js';
import { choiceOf } from './terms.js';

/** A change as the rules of the service quote it. */
export interface Quote {
  plan: ChangeDecision;
  update: Update;
  after: Subscription;
  lines: BillableChange;
}

const nothing: BillableChange = {
  items: [],
  ended: [],
  changedKeys: [],
  discountBases: [],
  carriesDiscount: false,
  newPeriod: undefined,
};

/** Quotes a change at a time; undefined for one that changes nothing by the rules of the price. */
export function quoteOf(
  history: History,
  {
    sub,
    rows,
    sold,
    at,
  }: { sub: Subscription; rows: readonly PeriodRow[]; sold: readonly CreditableLine[]; at: number },
  wish: Wish,
  requested: RequestedEffect,
): Quote | undefined {
  const periods = rows.filter(row => isLivePeriod(row) && row.endAt > at).toSorted((a, b) => a.startAt - b.startAt);
  const [current] = periods;
  const paidActive = current?.kind !== 'trial' && current?.kind !== 'free';
  const choice = choiceOf(history, wish);
  const paidAhead = !paidActive && billedPeriods(periods).length > 0;
  const settings = { downgradeEffectImmediately: false, upgradeProration: history.prorates };
  const context = { requested, paidActive, paidAhead, ...settings };
  const plan = decideChange(
    changeTerms(sub),
    changeTerms(withChange(sub, updateTo(sub, choice, { direction: 'upgrade', at }))),
    context,
  );
  // an equal change bills nothing and leaves lines at other prices: tested by itself
  if (plan.direction === 'equal' && requested === 'byRules') return undefined;
  const update = updateTo(sub, choice, { direction: plan.direction, at });
  const after = withChange(sub, update);
  const isBilled = plan.effect === 'now' && plan.billed;
  return {
    plan,
    update,
    after,
    lines: isBilled ? itemsOfImmediateChange({ sub, after, sold }, plan, at, periods) : nothing,
  };
}

/** The recurring discount on the charge lines of a change, where the lines in force carry it. */
export function boundTerms(
  code: Code | undefined,
  { discount }: Subscription,
  carriesDiscount: boolean,
  shares: readonly ItemChange[],
): InvoiceDiscount | undefined {
  if (!code || !discount?.recurring || !carriesDiscount) return undefined;
  return { is: 'terms', code: 'C', terms: discountOfParts(code.terms, shares) };
}
