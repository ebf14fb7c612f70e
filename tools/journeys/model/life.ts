import { localDay } from './calendar.js';
import { times } from './collection.js';
import { Course } from './course.js';
import type { ModelLine } from './money.js';
import type { Expected, Row } from './sales.js';
import type { RequestedEffect, Wish } from './terms.js';

/** Seconds within which the invoice of a change is paid, or lapses. */
const lapse = 4000;
const lengths = { day: 1, week: 7, month: 30, year: 365 };

/** A change of a subscription. `paid`: its invoice is paid at once; else it lapses. */
export interface Change {
  wish: Wish;
  effect: RequestedEffect;
  paid: boolean;
}

/**
 * The life of a subscription from the sentences of the rules: what was sold, period by period, and every document with its
 * lines. Each step is made at the time to which the life has come. Shares nothing with the services.
 */
export class Life extends Course {
  /** True if it is to end with the period under way. */
  endsWithPeriod = false;

  private isEqual = (a: Wish, b: Wish) => JSON.stringify(a) === JSON.stringify(b);

  protected override enter(row: Row): void {
    const { wish: from, later } = this;
    this.takeLater();
    // paid before the change was asked for: given back, and sold again
    const isAgain = later && row.doc && row.kind !== 'trial' && !this.isEqual(row.wish, later);
    const next = isAgain ? this.again(row, from) : row;
    [this.start, this.end] = [next.start, next.end];
    if (next.kind === 'trial') this.step++;
    else {
      this.step = this.steps.length;
      if (next.kind === 'cycle' && this.f(this.anchor, this.k + 1) <= this.end) this.k++;
    }
  }

  /** The deferred change takes effect at the end of the period. */
  private takeLater(): void {
    const { wish, later } = this;
    if (!later) return;
    if (!this.sameInterval(wish, later)) this.countFrom(Math.max(this.end, this.trialEnd));
    [this.wish, this.later] = [later, undefined];
    this.usage.plan(this.end, later.plan);
  }

  /** The next period begins, paid or not. */
  protected override pastDue(): void {
    if (this.next?.open) this.takeLater();
    super.pastDue();
  }

  private again(row: Row, from: Wish): Row {
    const isOther = !this.sameInterval(row.wish, this.wish);
    const anew = isOther ? { start: row.start, end: this.f(row.start, 1, this.wish, 0) } : undefined;
    const lines = this.billed([row], from, row.start, { anew });
    if (!lines) return row;
    this.sales.paid(lines.doc);
    this.sales.over(lines.ended);
    Object.assign(row, { wish: this.wish, ...(anew && { end: anew.end, kind: 'cycle' }) });
    if (anew) this.countFrom(anew.start);
    return row;
  }

  private billed(
    rows: readonly Row[],
    from: Wish,
    at: number,
    { anew, usage = [] }: { anew: { start: number; end: number } | undefined; usage?: readonly ModelLine[] },
  ) {
    const fullOf = ({ kind, start, end }: Row) => (kind === 'stub' ? this.f(start, 1, from, 0) : end) - start;
    const terms = { rows, from: this.sales.items(from), to: this.sales.items(this.wish), at, anew, fullOf, usage };
    return this.sales.change(terms);
  }

  /** True for a change that its rules take, and that is decided before the next step of the cycle. */
  takesChange(change: Omit<Change, 'paid'>): boolean {
    const time = this.timeOf(change);
    if (!time || this.isPrepaid) return false;
    if (time === 'periodEnd' && (this.endsWithPeriod || this.next?.open)) return false;
    // a next period that is paid is charged anew at its beginning, by an invoice that waits for another transfer
    if (time === 'periodEnd' && this.isByWire && this.next) return false;
    return this.paysChanges || this.nextAt > this.now + lapse;
  }

  /** When a change is made; undefined for one that changes nothing by the rules of the price. */
  private timeOf({ wish, effect }: Omit<Change, 'paid'>): 'now' | 'periodEnd' | undefined {
    const total = (of: Wish) => this.sales.items(of).reduce((sum, { price }) => sum + price, 0n);
    const length = (of: Wish) => lengths[this.interval(of).unit] * this.interval(of).count;
    const [longer, dearer] = [length(wish) - length(this.wish), total(wish) - total(this.wish)];
    const more = longer || Number(dearer);
    if (effect !== 'byRules') return effect;
    if (more === 0) return undefined;
    return more < 0 && !this.isTrial ? 'periodEnd' : 'now';
  }

  /** Periods that are not over, in their order. */
  private get unended(): Row[] {
    return this.rows.filter(({ end }) => end > this.now).sort((a, b) => a.start - b.start);
  }

  private get isTrial(): boolean {
    const kind = this.unended[0]?.kind;
    return kind === 'trial' || kind === 'free';
  }

  change({ wish, effect, paid: isPaid }: Change): void {
    const time = this.timeOf({ wish, effect });
    if (!time || !this.dropLater()) return;
    if (time === 'periodEnd') {
      this.later = wish;
      return;
    }
    const { unended: live, isTrial } = this;
    const { prorates } = this.terms;
    const paid = live.filter(({ kind, open }) => !open && (kind === 'cycle' || kind === 'stub'));
    const rows = prorates ? paid : [];
    const from = this.wish;
    const start = Math.max(this.now, rows[0]?.start ?? this.now);
    const isOther = !this.sameInterval(from, wish);
    this.wish = wish;
    const anew = rows.length > 0 && isOther ? { start, end: this.f(start, 1, wish, 0) } : undefined;
    const isRepriced = !isTrial && (anew || !this.usage.isSame(from.plan, wish.plan));
    const usage = isRepriced ? this.usage.lines(this.now, this.rows) : [];
    const lines = rows.length + usage.length > 0 ? this.billed(rows, from, this.now, { anew, usage }) : undefined;
    if (lines && lines.doc.total > lines.doc.spent && !isPaid) {
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
    else if (isOther) this.countFrom(Math.max(this.end, this.trialEnd, ...paid.map(({ end }) => end)));
  }

  /** True if the invoice of the next period is made, as the deferred change sells it. */
  private get isBilledLater(): boolean {
    const { next, later } = this;
    if (!later || !next?.doc || next.kind === 'trial') return false;
    return this.isEqual(next.wish, later) && !this.isEqual(next.wish, this.wish);
  }

  private get isPrepaid(): boolean {
    return this.isBilledLater && !this.next?.open;
  }

  /** Another change takes the place of the deferred one. Returns false where the next period is paid as that one sells it. */
  private dropLater(): boolean {
    if (this.isPrepaid) return false;
    if (this.isBilledLater) this.withdraw();
    this.later = undefined;
    return true;
  }

  /** Another series of periods; free time that was not used follows its first one. */
  private restart({ start, end }: { start: number; end: number }): void {
    const free = this.rows.reduce(
      (sum, row) => sum + (row.kind === 'free' && row.start >= start ? row.end - row.start : 0),
      0,
    );
    this.rows = this.rows.filter(row => row.start < start);
    for (const row of this.rows) row.end = Math.min(row.end, start);
    const own = { open: false, wish: this.wish, made: this.now };
    this.rows.push({ ...own, kind: 'cycle', start, end, doc: this.sales.expected.at(-1) });
    if (free > 0) this.rows.push({ ...own, kind: 'free', start: end, end: end + free, doc: undefined });
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

  /** Appends free time. */
  extend(seconds: number): void {
    const { next } = this;
    const left = this.steps.length > this.step + 1;
    this.trialEnd = Math.max(this.now, this.end, this.trialEnd) + seconds;
    const before = this.end;
    if (this.status !== 'active') this.events.push('activated');
    this.status = 'active';
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
    const isOwn = next?.kind === 'cycle' && this.sameInterval(next.wish, this.wish);
    this.countFrom(next && next.kind !== 'free' && !next.open && !isOwn ? next.end : this.trialEnd);
    this.end = this.trialEnd;
    const own = { open: false, doc: undefined, wish: this.wish, made: this.now };
    this.rows.push({ ...own, kind: 'free', start: before, end: this.end });
  }

  get takesDueDay(): boolean {
    return this.now >= this.trialEnd && this.interval(this.wish).unit !== 'day';
  }

  /** A day of the month as a due day: where periods are weeks, a weekday. */
  dueDayFrom = (day: number): number => (this.interval(this.wish).unit === 'week' ? (day % 7) + 1 : day);

  changeDueDay(day: number): void {
    const { unit } = this.interval(this.wish);
    if (!this.takesDueDay) return;
    // the last day that its month ever has, where periods are years
    const years = unit === 'year' ? [1, 2, 3, 4, 5, 6, 7, 8] : [0];
    const days = years.map(k => localDay(this.f(this.anchor, k), unit === 'week', this.terms.zone));
    if (((unit !== 'year' && this.day) || Math.max(...days)) === day) return;
    this.withdraw();
    this.count(this.next?.end ?? this.end, this.anchor, day);
  }

  use(units: number): void {
    this.usage.use(this.now, units);
  }

  cancel({ prorate, invoiceNow }: { prorate: boolean; invoiceNow: boolean }): void {
    const usage = invoiceNow ? this.usage.lines(Math.min(this.now + 1, this.end), this.rows) : [];
    this.over(prorate, usage, this.now);
  }

  cancelAtPeriodEnd(): void {
    this.dropLater();
    this.endsWithPeriod = true;
    this.toldEnd = 0;
    this.events.push('end.of.this.cycle');
  }

  keep(): void {
    this.endsWithPeriod = false;
    this.events.push('resume.end.of.this.cycle');
  }

  protected endWithPeriod(): void {
    this.over(false, this.usage.lines(this.end, this.rows), this.end + times.grace);
  }

  protected isHeld(row: Row): boolean {
    return this.endsWithPeriod && row === this.next && this.status === 'active';
  }

  /** The end: an open invoice is cancelled, and what is paid for later is given back. */
  private over(prorate: boolean, usage: readonly ModelLine[], made: number): void {
    this.withdraw();
    const doc = this.sales.end(this.now, this.end, prorate, usage);
    this.ended('cancelled');
    if (doc) this.owe(doc, made);
  }

  /** The last document, made at a time, is paid by then, or charged. */
  private owe(doc: Expected, made: number): void {
    const open = doc.total > doc.spent;
    const row: Row = { kind: 'stub', start: made, end: made, open, doc, wish: this.wish, made };
    this.rows.push(row);
    if (open) this.opened(row, made, made + times.first);
    else this.pay(row);
    this.live(this.now);
  }
}
