import { localDay } from '../calendar.js';
import type { History, Step, Wish } from '../history.js';
import type { NaiveLine } from './naive.js';
import { type Row } from './sales.js';

const lengths = { day: 1, week: 7, month: 30, year: 365 };

import { NaiveCourse } from './naive-course.js';
/**
 * The life of a subscription once more, from the sentences of the rules: what was sold, period by period, and every document
 * with its lines. Shares nothing with the service but the history.
 */
export class Oracle extends NaiveCourse {
  constructor(h: History) {
    super(h);
    for (const each of h.steps) this.take(each);
    this.finish();
  }

  private take(step: Step): void {
    this.live(step.do === 'renew' ? this.end : this.placed(step.part));
    if (step.do !== 'renew') this.wait();
    if (step.do === 'use') this.usage.use(this.now, step.units);
    if (step.do === 'change') this.change(step);
    else if (step.do === 'extend') this.extend(step.hours * 3600);
    else if (step.do === 'dueDay') this.dueDay(step.day);
  }

  private isEqual = (a: Wish, b: Wish) => JSON.stringify(a) === JSON.stringify(b);

  protected enter(row: Row): void {
    let next = row;
    if (this.later) {
      const [from, to] = [this.wish, this.later];
      const isOther = !this.sameInterval(from, to);
      if (isOther) this.countFrom(Math.max(this.end, this.trialEnd));
      [this.wish, this.later] = [to, undefined];
      this.usage.plan(this.end, to.plan);
      // paid before the change was asked for: given back, and sold again
      if (row.doc && row.kind !== 'trial' && !this.isEqual(row.wish, to)) next = this.again(row, from, isOther);
    }
    [this.start, this.end] = [next.start, next.end];
    if (next.kind === 'trial') this.step++;
    else {
      this.step = this.steps.length;
      if (next.kind === 'cycle' && this.f(this.anchor, this.k + 1) <= this.end) this.k++;
    }
  }

  private again(row: Row, from: Wish, isOther: boolean): Row {
    const anew = isOther ? { start: row.start, end: this.f(row.start, 1, this.wish, 0) } : undefined;
    const lines = this.billed([row], from, row.start, { anew });
    if (!lines) return row;
    this.sales.paid(lines.doc);
    this.sales.over(lines.ended);
    Object.assign(row, { wish: this.wish, ...(anew && { end: anew.end, kind: 'cycle' }) });
    return row;
  }

  private billed(
    rows: readonly Row[],
    from: Wish,
    at: number,
    { anew, usage = [] }: { anew: { start: number; end: number } | undefined; usage?: readonly NaiveLine[] },
  ) {
    const fullOf = ({ kind, start, end }: Row) => (kind === 'stub' ? this.f(start, 1, from, 0) : end) - start;
    const terms = { rows, from: this.sales.items(from), to: this.sales.items(this.wish), at, anew, fullOf, usage };
    return this.sales.change(terms);
  }

  private change({ wish, effect, paid }: Extract<Step, { do: 'change' }>): void {
    const total = (of: Wish) => this.sales.items(of).reduce((sum, { price }) => sum + price, 0n);
    const length = (of: Wish) => lengths[this.interval(of).unit] * this.interval(of).count;
    const [longer, dearer] = [length(wish) - length(this.wish), total(wish) - total(this.wish)];
    const more = longer || Number(dearer);
    if (more === 0 && effect === 'byRules') return;
    const { next } = this;
    // the next period was billed as the change sells it that this one takes the place of
    const isBilled = this.later && next?.doc && next.kind !== 'trial' && !this.isEqual(next.wish, this.wish);
    if (isBilled && !next.open) return;
    if (isBilled) this.withdraw();
    this.later = undefined;
    const live = this.rows.filter(({ end }) => end > this.now).sort((a, b) => a.start - b.start);
    const isTrial = live[0]?.kind === 'trial' || live[0]?.kind === 'free';
    if (effect === 'periodEnd' || (effect === 'byRules' && !isTrial && more < 0)) {
      this.later = wish;
      return;
    }
    const rows = live.filter(({ kind, open }) => !open && (kind === 'cycle' || kind === 'stub'));
    const from = this.wish;
    const start = Math.max(this.now, rows[0]?.start ?? this.now);
    const isOther = rows.length > 0 && !this.sameInterval(from, wish);
    this.wish = wish;
    const anew = isOther ? { start, end: this.f(start, 1, wish, 0) } : undefined;
    const isRepriced = !isTrial && (anew || !this.usage.isSame(from.plan, wish.plan));
    const usage = isRepriced ? this.usage.lines(this.now, this.rows) : [];
    const lines = rows.length > 0 ? this.billed(rows, from, this.now, { anew, usage }) : undefined;
    if (lines && lines.doc.total > 0n && !paid) {
      this.sales.lapse(lines.doc);
      this.wish = from;
      return;
    }
    if (lines) {
      this.sales.over(lines.ended);
      this.sales.paid(lines.doc);
    }
    this.withdraw();
    if (isRepriced) this.usage.billed(this.now);
    this.usage.plan(this.now, wish.plan);
    for (const row of rows) row.wish = wish;
    if (anew) this.restart(anew);
  }

  /** Another series of periods; free time that was not used follows its first one. */
  private restart({ start, end }: { start: number; end: number }): void {
    const free = this.rows.reduce(
      (sum, row) => sum + (row.kind === 'free' && row.start >= start ? row.end - row.start : 0),
      0,
    );
    this.rows = this.rows.filter(row => row.start < start);
    for (const row of this.rows) row.end = Math.min(row.end, start);
    this.rows.push({ kind: 'cycle', start, end, open: false, doc: this.sales.expected.at(-1), wish: this.wish });
    if (free > 0)
      this.rows.push({ kind: 'free', start: end, end: end + free, open: false, doc: undefined, wish: this.wish });
    const isNow = start < this.end;
    if (free > 0) this.trialEnd = end + free;
    this.countFrom(free > 0 ? this.trialEnd : start);
    if (!isNow) return;
    [this.start, this.end] = [start, end + free];
    if (free === 0) this.k = 1;
  }

  private withdraw(): void {
    const { next } = this;
    if (!next?.open) return;
    this.rows = this.rows.filter(row => row !== next);
    if (next.doc) this.sales.lapse(next.doc);
  }

  private extend(seconds: number): void {
    const { next } = this;
    const left = this.steps.length > this.step + 1;
    this.trialEnd = Math.max(this.now, this.end, this.trialEnd) + seconds;
    const before = this.end;
    if (left) {
      this.countFrom(this.trialEnd);
      return;
    }
    if (next?.kind === 'free') this.rows = this.rows.filter(row => row !== next);
    else if (next?.open) this.withdraw();
    else if (next) {
      const isFull = next.kind === 'cycle';
      const end = isFull ? this.f(this.trialEnd, 1, next.wish, 0) : this.trialEnd + next.end - next.start;
      this.sales.move(next, this.trialEnd, end);
      Object.assign(next, { start: this.trialEnd, end });
    }
    this.countFrom(next?.kind === 'stub' && !next.open ? next.end : this.trialEnd);
    this.end = this.trialEnd;
    const free = { kind: 'free', start: before, end: this.end, open: false, doc: undefined, wish: this.wish } as const;
    this.rows.push(free);
  }

  private dueDay(given: number): void {
    const { unit } = this.interval(this.wish);
    if (this.now < this.trialEnd || unit === 'day') return;
    const day = unit === 'week' ? (given % 7) + 1 : given;
    // the last day that its month ever has, where periods are years
    const years = unit === 'year' ? [1, 2, 3, 4, 5, 6, 7, 8] : [0];
    const days = years.map(k => localDay(this.f(this.anchor, k), unit === 'week', this.h.zone));
    if (((unit !== 'year' && this.day) || Math.max(...days)) === day) return;
    this.withdraw();
    this.count(this.next?.end ?? this.end, this.anchor, day);
  }

  private finish(): void {
    const { part, prorate, invoiceNow } = this.h.ending;
    this.live(this.placed(part));
    this.wait();
    this.withdraw();
    const usage = invoiceNow ? this.usage.lines(Math.min(this.now + 1, this.end), this.rows) : [];
    this.sales.end(this.now, this.end, prorate, usage);
  }
}
