import type { Interval } from '@recur/kernel';
import { dueDate, nthBoundary } from '../calendar.js';
import type { History, Wish } from '../history.js';
import type { NaiveLine } from './naive.js';
import { NaiveUsage } from './naive-usage.js';
import { type Row, Sales } from './sales.js';

const DAY = 86_400;
const leads = { day: 3600, week: DAY, month: 3 * DAY, year: 15 * DAY };
const inSteps = 7 * DAY;

/** The billing cycle of a subscription by the sentences of the rules. */
export abstract class NaiveCourse {
  readonly sales: Sales;
  protected readonly usage: NaiveUsage;
  rows: Row[] = [];
  protected wish: Wish;
  protected later: Wish | undefined;
  protected now: number;
  protected start: number;
  protected end: number;
  /** Full periods are counted from here, on a due day where there is one. */
  protected anchor: number;
  protected day = 0;
  protected k = 0;
  protected trialEnd = 0;
  protected step = 0;
  protected steps: { start: number; end: number; price: number }[] = [];

  constructor(protected readonly h: History) {
    this.sales = new Sales(h);
    this.usage = new NaiveUsage(h);
    this.wish = h.wish;
    this.now = h.start;
    this.start = h.start;
    this.anchor = h.start;
    this.end = h.start;
    this.begin();
  }

  protected interval = ({ plan }: Wish): Interval => (plan === 2 ? this.h.intervals[1] : this.h.intervals[0]);
  protected f = (anchor: number, k: number, wish = this.wish, day = this.day) =>
    nthBoundary(anchor, k, this.interval(wish), this.h.zone, day);
  protected get next(): Row | undefined {
    return this.rows.find(({ start }) => start === this.end);
  }

  protected begin(): void {
    const { begin, start } = this.h;
    const { unit } = this.interval(this.wish);
    if (begin.is === 'free' || begin.is === 'trial') {
      const price = begin.is === 'trial' ? begin.price : 0;
      this.steps = begin.is === 'trial' ? [{ start, end: start + begin.seconds, price }] : [];
      this.end = start + begin.seconds;
    } else if (begin.is === 'steps') {
      const middle = start + inSteps;
      const end = nthBoundary(middle, 1, { unit: 'month', count: 1 }, this.h.zone);
      const [first, second] = begin.prices;
      this.steps = [
        { start, end: middle, price: first },
        { start: middle, end, price: second },
      ];
      this.end = middle;
    }
    const day = begin.is === 'stub' && unit !== 'day' ? (unit === 'week' ? begin.day % 8 : begin.day) : 0;
    if (this.end > start) {
      this.trialEnd = this.steps.at(-1)?.end ?? this.end;
      this.anchor = this.trialEnd;
      this.add(this.steps.length > 0 ? 'trial' : 'free', start, this.end, this.wish, true);
    } else if (day > 0) {
      this.count(start, start, day);
      this.end = this.f(this.anchor, this.k);
      this.add('stub', start, this.end, this.wish, true);
    } else {
      this.k = 1;
      this.end = this.f(start, 1);
      this.add('cycle', start, this.end, this.wish, true);
    }
  }

  /** Counts periods from the first due day after a time. */
  protected count(after: number, timeOf: number, day: number): void {
    const { unit } = this.interval(this.wish);
    this.countFrom(dueDate(after, timeOf, day, unit === 'week', this.h.zone), unit === 'week' ? 0 : day);
  }

  protected countFrom(anchor: number, day = 0): void {
    [this.anchor, this.day, this.k] = [anchor, day, 0];
  }

  protected placed = (part: number) =>
    Math.max(this.now, this.start + Math.floor(((this.end - 1 - this.start) * part) / 1000));

  protected get waiting(): Row | undefined {
    return this.rows.find(({ start, waits }) => start === this.start && waits);
  }

  /** Nothing is changed while an invoice waits for usage. */
  protected wait(): void {
    const { waits } = this.waiting ?? {};
    if (waits) this.live(waits);
  }

  protected live(time: number): void {
    for (;;) {
      const { next, waiting } = this;
      const lead = this.h.meter ? 0 : leads[this.interval(this.wish).unit];
      const make = Math.max(this.end - lead, this.start);
      const at = waiting?.waits ?? (next ? (next.open ? next.start - 7200 : this.end) : make);
      if (at > time) break;
      this.now = Math.max(this.now, at);
      if (waiting) this.complete(waiting);
      else if (!next) this.renew();
      else if (next.open) this.collect(next);
      else this.enter(next);
    }
    this.now = Math.max(this.now, time);
  }

  /** The invoice that waited for usage: fees, and what was used before its period. */
  protected complete(row: Row): void {
    const usage = this.usage.lines(row.start, this.rows);
    this.usage.billed(row.start);
    row.waits = 0;
    row.doc = this.billOf(row, usage);
    if (row.doc) this.sales.paid(row.doc);
  }

  protected collect(row: Row): void {
    row.open = false;
    if (row.doc) this.sales.paid(row.doc);
  }

  protected renew(): void {
    const wish = this.later ?? this.wish;
    const isOther = !this.sameInterval(wish, this.wish);
    const [anchor, k, day] = isOther ? [Math.max(this.end, this.trialEnd), 0, 0] : [this.anchor, this.k, this.day];
    const due = this.f(anchor, k, wish, day);
    const step = this.steps[this.step + 1];
    if (step) this.add('trial', step.start, step.end, wish);
    else if (this.trialEnd > this.end) this.add('free', this.end, this.trialEnd, wish);
    else if (due > this.end) this.add('stub', this.end, due, wish);
    else this.add('cycle', this.end, this.f(anchor, k + 1, wish, day), wish);
  }

  /** Adds a period with its invoice; what costs nothing is paid at once, the first one too. */
  protected add(kind: Row['kind'], start: number, end: number, wish = this.wish, isPaid = false): void {
    const row: Row = { kind, start, end, open: false, doc: undefined, wish };
    this.rows.push(row);
    if (this.h.meter && !isPaid) {
      row.waits = Math.min(start + 3600, end);
      return;
    }
    row.doc = this.billOf(row, []);
    row.open = !isPaid && row.doc !== undefined && row.doc.total > 0n;
    if (row.doc && !row.open) this.sales.paid(row.doc);
  }

  protected billOf({ kind, start, end, wish }: Row, usage: readonly NaiveLine[]) {
    const trial = this.steps.find(step => kind === 'trial' && step.start === start);
    const price = BigInt(trial?.price ?? 0) * BigInt(wish.quantity);
    const isFree = kind === 'free' || (trial !== undefined && trial.price === 0);
    const items = isFree ? [] : trial ? [{ item: 0, plan: wish.plan, price }] : this.sales.items(wish);
    if (items.length + usage.length === 0) return undefined;
    const full = kind === 'stub' ? this.f(start, 1, wish, 0) - start : end - start;
    return this.sales.bill(items, this.now, { start, end }, { full, usage });
  }

  protected sameInterval(a: Wish, b: Wish): boolean {
    const [x, y] = [this.interval(a), this.interval(b)];
    return x.unit === y.unit && x.count === y.count;
  }

  protected abstract enter(row: Row): void;
}
