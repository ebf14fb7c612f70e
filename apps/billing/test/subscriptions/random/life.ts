import { dueDayOf, dueSeries } from '@recur/kernel';
import { repricedMetrics } from '../../../src/subscriptions/arrears.js';
import { extended, movedAfter } from '../../../src/subscriptions/course/trial-time.js';
import {
  freeSecondsFrom,
  sellsItems,
  sellsQuantities,
  withChange,
  withDeferredChange,
  withNewAnchor,
  withNewPeriod,
} from '../../../src/subscriptions/domain/apply-change.js';
import { itemsOfDeferredChange } from '../../../src/subscriptions/domain/change-items.js';
import { changeInput, finalInput } from '../../../src/subscriptions/domain/invoice-input.js';
import { intervalOf } from '../../../src/subscriptions/domain/items.js';
import { finalItems } from '../../../src/subscriptions/domain/items-to-bill.js';
import { type PeriodRow, sellsPlan } from '../../../src/subscriptions/domain/periods.js';
import { isInTrial, planOf } from '../../../src/subscriptions/domain/subscription.js';
import { boundTerms, quoteOf } from './changing.js';
import { Course, type Waiting } from './course.js';
import type { History, Step } from './history.js';
import { METRIC } from './meter.js';

type Change = Extract<Step, { do: 'change' }>;

/**
 * A subscription that lives in memory: the rules of billing without a database. Steps of the cycle, bills and documents
 * are those of the service; only what joins them is here.
 */
export class Life extends Course {
  /** Lives through all steps and ends. */
  lived(): this {
    for (const step of this.history.steps) this.take(step);
    this.end();
    return this;
  }

  private take(step: Step): void {
    this.liveTo(step.do === 'renew' ? this.sub.currentPeriodEnd : this.placed(step.part));
    if (step.do !== 'renew') this.waitForDraft();
    if (step.do === 'change') this.change(step);
    else if (step.do === 'extend') this.extend(step.hours);
    else if (step.do === 'use') this.meter.use(this.now, step.units);
    else if (step.do === 'dueDay') this.changeDueDay(step.day);
    this.preview();
  }

  /** The deferred change: an invoice that was made for what was sold before is replaced, or credited and charged anew. */
  protected carryOut(update: Waiting): void {
    const { upcoming, sub } = this;
    const after = { ...withDeferredChange(sub, update), discount: sub.discount };
    this.update = undefined;
    this.sub = after;
    this.meter.reprice(sub.currentPeriodEnd, after);
    if (!upcoming || upcoming.finishAt > 0 || !sellsPlan(upcoming) || sellsItems(after, this.books.linesOf(upcoming)))
      return;
    const { newPeriod, ...lines } = itemsOfDeferredChange(
      { sub, after, sold: this.books.sold(upcoming.startAt) },
      upcoming,
    );
    const discount = boundTerms(this.history.code, sub, lines.carriesDiscount, lines.discountBases);
    const end = newPeriod?.end ?? upcoming.endAt;
    const bill = changeInput(after, {
      direction: 'downgrade',
      at: upcoming.startAt,
      periodEnd: end,
      items: lines.items,
      discount,
      promo: { cap: 0, apply: false },
    });
    this.books.make(bill, this.now).state = 'paid';
    this.books.endLines(lines.ended, upcoming.startAt);
    if (!newPeriod) return;
    this.sub = { ...after, anchor: newPeriod.start, periodNo: 0 };
    this.periods.replace(upcoming, { ...upcoming, state: 'void' });
    this.addRow({ kind: 'cycle', ...newPeriod }, this.books.made.at(-1)?.document.invoiceId ?? '', 'paid');
  }

  // changes

  private change({ wish, effect, paid }: Change): void {
    const { sub, rows, now: at } = this;
    const quote = quoteOf(this.history, { sub, rows, sold: this.books.sold(at), at }, wish, effect);
    if (!quote || this.isPrepaid()) return;
    this.dropUpdate();
    if (quote.plan.effect === 'periodEnd') {
      this.update = { ...quote.update, terms: { discount: this.sub.discount, taxPercentage: this.sub.taxPercentage } };
      return;
    }
    const { newPeriod, ...lines } = quote.lines;
    const isBilled = !this.isFree(at) && (newPeriod || repricedMetrics(this.sub, quote.after).has(METRIC));
    const used = isBilled ? this.meter.items(at, this.rows) : [];
    if (lines.items.length + used.length > 0) {
      const discount = boundTerms(this.history.code, this.sub, lines.carriesDiscount, lines.discountBases);
      const bill = changeInput(quote.after, {
        direction: quote.plan.direction,
        at: this.now,
        periodEnd: newPeriod?.end ?? this.sub.currentPeriodEnd,
        items: [...lines.items, ...used],
        discount,
        promo: { cap: 0, apply: false },
      });
      const made = this.books.make(bill, this.now);
      const takesEffect = paid || made.document.totalAmount <= 0n;
      made.state = takesEffect ? 'paid' : 'void';
      if (!takesEffect) {
        this.books.giveBack(made);
        return;
      }
      this.books.endLines(lines.ended, this.now);
    }
    this.withdrawNext();
    if (isBilled) this.meter.billed(at);
    const changed = withChange(this.sub, quote.update);
    this.meter.reprice(at, changed);
    this.sub = newPeriod ? changed : withNewAnchor(this.sub, changed, this.rows);
    if (!newPeriod) return;
    const free = freeSecondsFrom(this.rows, newPeriod.start);
    for (const row of this.rows.filter(({ endAt, state }) => state !== 'void' && endAt > newPeriod.start)) {
      const cut =
        row.startAt < newPeriod.start ? { ...row, endAt: newPeriod.start } : { ...row, state: 'void' as const };
      this.periods.replace(row, cut);
    }
    this.sub = withNewPeriod(this.sub, newPeriod, free);
    this.addRow({ kind: 'cycle', ...newPeriod }, this.books.made.at(-1)?.document.invoiceId ?? '', 'paid');
    if (free > 0) this.addRow({ kind: 'free', start: newPeriod.end, end: newPeriod.end + free }, '', 'paid');
  }

  /** True if the next period is paid as the deferred change sells it. */
  private isPrepaid(): boolean {
    const { update, upcoming } = this;
    if (!update || upcoming?.state !== 'paid' || !this.isForChange(upcoming)) return false;
    return sellsQuantities(update.updateItems, this.books.linesOf(upcoming));
  }

  private isFree = (time: number): boolean =>
    this.rows.some(
      ({ kind, state, startAt, endAt }) =>
        state !== 'void' && (kind === 'trial' || kind === 'free') && startAt <= time && time < endAt,
    );

  private isForChange = (next: PeriodRow): boolean =>
    sellsPlan(next) && !sellsItems(this.sub, this.books.linesOf(next));

  /** Another change takes the place of the deferred one: an open invoice that was made for it is withdrawn. */
  private dropUpdate(): void {
    if (this.update && this.upcoming?.state === 'open' && this.isForChange(this.upcoming)) this.withdrawNext();
    this.update = undefined;
  }

  private extend(hours: number): void {
    const { upcoming } = this;
    const { sub, free } = extended(this.sub, hours, this.now);
    const before = this.sub;
    this.sub = sub;
    if (!free) return;
    if (upcoming?.kind === 'free') this.periods.replace(upcoming, { ...upcoming, state: 'void' });
    else if (upcoming?.state === 'paid') {
      const { next: moved, sub: counted } = movedAfter(sub, upcoming, this.books.sold(upcoming.startAt));
      this.periods.replace(upcoming, moved);
      this.sub = counted;
      const period = (row: PeriodRow) => ({ start: row.startAt, end: row.endAt });
      this.books.moveLines(period(upcoming), period(moved));
    } else {
      this.sub = before;
      this.withdrawNext();
      this.sub = { ...sub, discount: this.sub.discount };
    }
    this.addRow(free, '', 'paid');
  }

  private changeDueDay(day: number): void {
    const { sub, upcoming } = this;
    const interval = intervalOf(planOf(sub));
    if (isInTrial(sub, this.now) || interval.unit === 'day') return;
    const dueDay = interval.unit === 'week' ? (day % 7) + 1 : day;
    if (dueDayOf(sub.anchor, interval, sub.timeZone) === dueDay) return;
    if (upcoming?.state === 'open') this.withdrawNext();
    const from = upcoming?.state === 'paid' ? upcoming.endAt : sub.currentPeriodEnd;
    const { anchor, k: periodNo } = dueSeries(from, sub.anchor, dueDay, interval, sub.timeZone);
    this.sub = { ...this.sub, anchor, periodNo };
  }

  private end(): void {
    const { part, prorate, invoiceNow } = this.history.ending;
    this.liveTo(this.placed(part));
    this.waitForDraft();
    this.update = undefined;
    this.withdrawNext();
    const { now: at, rows } = this;
    const { currentPeriodEnd: periodEnd } = this.sub;
    const usage = this.meter.items(Math.min(at + 1, periodEnd), rows);
    const { items, ended } = finalItems({ at, periodEnd, prorate, invoiceNow, usage, sold: this.books.sold(at) });
    if (items.length > 0) this.books.make(finalInput(this.sub, items, at, 'last'), at).state = 'paid';
    this.books.endLines(ended, at);
  }
}

/** Lives a history through. */
export const lived = (history: History): Life => new Life(history).lived();
