import { dueDate, nthBoundary } from './calendar.js';
import { type Card, Collection, type Due, times } from './collection.js';
import type { ModelLine } from './money.js';
import type { Row } from './sales.js';
import type { Interval, Terms, Wish } from './terms.js';
import { Usage } from './usage.js';

const DAY = 86_400;
const leads = { day: 3600, week: DAY, month: 3 * DAY, year: 15 * DAY };
const inSteps = 7 * DAY;

/** The billing cycle of a subscription by the sentences of the rules. */
export abstract class Course extends Collection {
  protected readonly usage: Usage;
  wish: Wish;
  protected later: Wish | undefined;
  /** The start of the period under way. */
  start: number;
  /** The end of the period under way. */
  end: number;
  /** Full periods are counted from here, on a due day where there is one. */
  protected anchor: number;
  protected day = 0;
  protected k = 0;
  trialEnd = 0;
  /** The end of a period that was told to be that of the subscription. */
  protected toldEnd = 0;
  protected step = 0;
  protected steps: { start: number; end: number; price: number }[] = [];

  constructor(terms: Terms, card: Card = 'pays') {
    super(terms, card);
    this.usage = new Usage(terms);
    this.wish = terms.wish;
    this.start = terms.start;
    this.anchor = terms.start;
    this.end = terms.start;
    this.begin();
  }

  protected interval = ({ plan }: Wish): Interval => (plan === 2 ? this.terms.intervals[1] : this.terms.intervals[0]);
  protected f = (anchor: number, k: number, wish = this.wish, day = this.day) =>
    nthBoundary(anchor, k, this.interval(wish), this.terms.zone, day);
  protected get current(): Row | undefined {
    return this.rows.find(({ start }) => start === this.start);
  }
  protected get next(): Row | undefined {
    return this.rows.find(({ start }) => start === this.end);
  }

  protected begin(): void {
    const { begin, start } = this.terms;
    const { unit } = this.interval(this.wish);
    if (begin.is === 'free' || begin.is === 'trial') {
      const price = begin.is === 'trial' ? begin.price : 0;
      this.steps = begin.is === 'trial' ? [{ start, end: start + begin.seconds, price }] : [];
      this.end = start + begin.seconds;
    } else if (begin.is === 'steps') {
      const middle = start + inSteps;
      const end = nthBoundary(middle, 1, { unit: 'month', count: 1 }, this.terms.zone);
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
    this.countFrom(dueDate(after, timeOf, day, unit === 'week', this.terms.zone), unit === 'week' ? 0 : day);
  }

  protected countFrom(anchor: number, day = 0): void {
    [this.anchor, this.day, this.k] = [anchor, day, 0];
  }

  /** The place of a thousandth in the period under way, if it is still to come. */
  placed = (part: number) => Math.max(this.now, this.start + Math.floor(((this.end - 1 - this.start) * part) / 1000));

  protected get waiting(): Row | undefined {
    return this.current?.waits ? this.current : undefined;
  }

  /** True while a charge or the usage of a period is undecided: nothing is changed meanwhile. */
  get isUnderWay(): boolean {
    return (
      this.waiting !== undefined ||
      this.rows.some(({ charge }) => charge?.isAsked || (charge?.paysAt ?? Infinity) < Infinity)
    );
  }

  /** Lives on until no invoice waits for usage: nothing is changed meanwhile. */
  wait(): void {
    while (this.waiting?.waits) this.live(this.waiting.waits);
  }

  /** Makes every step of the cycle up to a time. */
  live(time: number): void {
    for (;;) {
      const { due } = this;
      if (!due || due.at > time) break;
      this.now = Math.max(this.now, due.at);
      due.make();
    }
    this.now = Math.max(this.now, time);
  }

  /** The time of its next step; Infinity for none. */
  get nextAt(): number {
    return this.due?.at ?? Infinity;
  }

  protected get due(): Due | undefined {
    const { collectionOrCycle: next, endNotice: notice } = this;
    return notice && notice.at < (next?.at ?? Infinity) ? notice : next;
  }

  /** Tells that it ends with its period, once for each end. */
  private get endNotice(): Due | undefined {
    const { end } = this;
    const isUnderWay = this.status === 'active' || this.status === 'incomplete';
    if (!isUnderWay || !this.endsWithPeriod || this.toldEnd === end) return undefined;
    const make = () => {
      this.toldEnd = end;
      this.events.push('track.willcancel');
    };
    return { at: end - leads[this.interval(this.wish).unit], make };
  }

  private get collectionOrCycle(): Due | undefined {
    const { waiting, collecting, cycleStep: step } = this;
    if (this.hasEnded) return collecting;
    if (waiting?.waits) return { at: waiting.waits, make: () => this.complete(waiting) };
    return step && !(collecting && collecting.at <= step.at) ? step : collecting;
  }

  /** The next step of the cycle; undefined while the period before it is unpaid. */
  private get cycleStep(): Due | undefined {
    const { next, end, start } = this;
    if (this.status === 'pending') return undefined;
    if (this.endsWithPeriod && !this.current?.open) return { at: end, make: () => this.endWithPeriod() };
    const unpaid = this.current?.open ? this.current : next?.open ? next : undefined;
    if (unpaid) return this.status === 'active' ? { at: end, make: () => this.pastDue() } : undefined;
    if (next) return { at: end, make: () => this.enter(next) };
    const lead = this.terms.meter ? 0 : leads[this.interval(this.wish).unit];
    // periods that were over when they were made: one is charged per interval of retries
    const { made = 0 } = this.current ?? {};
    const at = Math.max(end - lead, start, made >= end ? made + times.retry : 0);
    return { at, make: () => this.renew() };
  }

  /** The invoice that waited for usage: fees, and what was used before its period. */
  protected complete(row: Row): void {
    const usage = this.usage.lines(row.start, this.rows);
    this.usage.billed(row.start);
    row.waits = 0;
    this.bill(row, usage, this.now);
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

  /** Adds a period with its invoice. */
  protected add(kind: Row['kind'], start: number, end: number, wish = this.wish, isFirst = false): void {
    const row: Row = { kind, start, end, open: false, doc: undefined, wish, made: this.now };
    this.rows.push(row);
    if (this.terms.meter && !isFirst) {
      row.waits = Math.min(start + times.grace, end);
      return;
    }
    this.bill(row, [], isFirst ? start : start - times.lead);
  }

  /** Bills a period; what costs nothing is paid at once. */
  private bill(row: Row, usage: readonly ModelLine[], chargedFrom: number): void {
    const { doc } = Object.assign(row, { doc: this.billOf(row, usage) });
    row.open = doc !== undefined && doc.total > doc.spent;
    if (row.open && this.status !== 'pending') this.events.push('track');
    if (row.open) this.opened(row, chargedFrom);
    else this.pay(row);
  }

  protected billOf({ kind, start, end, wish }: Row, usage: readonly ModelLine[]) {
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

  abstract endsWithPeriod: boolean;

  protected abstract endWithPeriod(): void;
}
