import { type ModelLine, rateAt, USAGE } from './money.js';
import type { Row } from './sales.js';
import type { Terms } from './terms.js';

/** Usage as it is told by hand: what was used when, and which plan there was. */
export class Usage {
  private readonly uses: { at: number; units: number }[] = [];
  private readonly plans: { from: number; plan: number }[];
  private since: number;

  constructor(private readonly terms: Terms) {
    this.since = terms.start;
    this.plans = [{ from: terms.start, plan: terms.wish.plan }];
  }

  use(at: number, units: number): void {
    if (this.terms.meter) this.uses.push({ at, units });
  }

  plan(from: number, plan: number): void {
    this.plans.push({ from, plan });
  }

  billed(until: number): void {
    this.since = until;
  }

  /** True if two plans ask the same for usage. */
  isSame(one: number, other: number): boolean {
    const { prices = [] } = this.terms.meter ?? {};
    return one === other || ((one === 2) === (other === 2) && prices[one] === prices[other]);
  }

  /** Lines of what was used up to a time: second by second it belongs to a price, or is free. */
  lines(until: number, rows: readonly Row[]): ModelLine[] {
    const lines: ModelLine[] = [];
    for (const { start, end, plan } of this.stretches(until, rows)) {
      const units = this.uses.reduce((sum, { at, units }) => (at >= start && at < end ? sum + units : sum), 0);
      if (units === 0) continue;
      const own = {
        item: USAGE,
        start,
        end,
        gross: this.price(plan, units),
        full: 0n,
        rate: rateAt(this.terms, end - 1),
      };
      lines.push({ ...own, discount: 0n, promo: 0n, tax: 0n });
    }
    return lines;
  }

  private price(plan: number, units: number): bigint {
    const { prices = [], freeUnits = 0 } = this.terms.meter ?? {};
    const unit = prices[plan] ?? 0;
    if (plan === 2) return BigInt(units > 50 ? 50 * unit + (units - 50) + 7 : units * unit);
    return BigInt(Math.max(units - freeUnits, 0) * unit);
  }

  private stretches(until: number, rows: readonly Row[]) {
    const found: { start: number; end: number; plan: number }[] = [];
    const isFree = (at: number) =>
      rows.some(({ kind, start, end }) => (kind === 'trial' || kind === 'free') && start <= at && at < end);
    const marks = [...this.plans.map(({ from }) => from), ...rows.flatMap(({ start, end }) => [start, end])];
    let start = this.since;
    while (start < until) {
      const end = Math.min(until, ...marks.filter(mark => mark > start));
      const { plan } = this.plans.findLast(({ from }) => from <= start) ?? { plan: 0 };
      const last = found.at(-1);
      if (!isFree(start)) {
        if (last?.end === start && this.isSame(last.plan, plan)) last.end = end;
        else found.push({ start, end, plan });
      }
      start = end;
    }
    return found;
  }
}
