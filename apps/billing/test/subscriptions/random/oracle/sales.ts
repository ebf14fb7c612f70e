import type { Code, History, Wish } from '../history.js';
import { type NaiveLine, netOf, priced, rateAt, rounded } from './naive.js';
import { USAGE } from './naive-usage.js';

/** A document as the oracle expects it. */
export interface Expected {
  at: number;
  lines: NaiveLine[];
  isVoid: boolean;
  total: bigint;
  /** Promo credits that it takes. */
  promoCost: bigint;
  /** The invoice of a period. */
  isCycle: boolean;
}

export interface Row {
  kind: 'trial' | 'free' | 'cycle' | 'stub';
  start: number;
  end: number;
  open: boolean;
  doc: Expected | undefined;
  /** Its invoice waits for the usage before it, until then. */
  waits?: number;
  /** Subject of the bill. */
  wish: Wish;
}

/** A line that sells time, of a paid document. */
interface Sold {
  line: NaiveLine;
  start: number;
  end: number;
  credited: bigint;
  doc: Expected;
}

export interface Item {
  item: number;
  plan: number;
  price: bigint;
}

/** A change as its document bills it: a part of a full period is charged, or time is given back. */
interface Change {
  rows: readonly Row[];
  from: readonly Item[];
  to: readonly Item[];
  at: number;
  /** The full period that begins, for another interval. */
  anew?: { start: number; end: number } | undefined;
  /** Seconds of the full period that a row is priced by. */
  fullOf: (row: Row) => number;
  /** Usage that is billed with it. */
  usage: readonly NaiveLine[];
}

/** The documents that the oracle expects, and what they leave: lines in force, promo credit, uses of the code. */
export class Sales {
  readonly expected: Expected[] = [];
  private sold: Sold[] = [];
  private promo: bigint;
  /** The code waits for its first reduction. */
  private waits: boolean;

  constructor(private readonly h: History) {
    this.promo = h.promo?.balance ?? 0n;
    this.waits = h.code !== undefined;
  }

  /** Price of a wish for a full period. */
  items({ plan, quantity, addons }: Wish): Item[] {
    const all = [
      { item: 0, plan, price: BigInt(this.h.plans[plan] ?? 0) * BigInt(quantity) },
      ...addons.map((many, i) => ({ item: i + 1, plan: 0, price: BigInt(this.h.addons[i] ?? 0) * BigInt(many) })),
    ];
    return all.filter(({ item }) => item === 0 || (addons[item - 1] ?? 0) > 0);
  }

  /** Bills a period; `part` of `full` seconds where it is a stub. */
  bill(
    items: readonly Item[],
    at: number,
    { start, end }: { start: number; end: number },
    { full, usage = [] }: { full: number; usage?: readonly NaiveLine[] },
  ): Expected {
    const rate = rateAt(this.h, at);
    const whole = full === end - start;
    const lines = items.map(({ item, price }) => {
      const part = whole ? price : smaller(rounded(price, BigInt(end - start), BigInt(full)), price);
      return { item, start, end, gross: part, full: price, rate, discount: 0n, promo: 0n, tax: 0n };
    });
    return this.document([...lines, ...usage], at, this.cycleTerms(), true);
  }

  /** A change: credits of what is in force, and charges for what is left. Returns nothing where there is no line. */
  change({ rows, from, to, at, anew, fullOf, usage }: Change): { doc: Expected; ended: Sold[] } | undefined {
    const inRows = this.sold.filter(
      sold => sold.end > at && rows.some(({ start, end }) => sold.start >= start && sold.end <= end),
    );
    const rate = rateAt(this.h, at);
    const charge = ({ item, price }: Item, start: number, end: number, full: number): NaiveLine => {
      const gross = smaller(rounded(price, BigInt(end - start), BigInt(full)), price);
      return { item, start, end, gross, full: price, rate, discount: 0n, promo: 0n, tax: 0n };
    };
    const lines: NaiveLine[] = [];
    const ended: Sold[] = [];
    const newBase = to.reduce((total, { price }) => total + price, 0n);
    let off = 0n;
    const fixed = this.h.code?.terms.kind === 'fixed' ? this.h.code.terms.amount : 0n;
    if (anew) {
      const all = inRows.toSorted((a, b) => a.start - b.start || a.line.item - b.line.item);
      lines.push(...all.map(sold => credit(sold, at)));
      lines.push(...to.map(item => charge(item, anew.start, anew.end, anew.end - anew.start)));
      ended.push(...all);
      off = smaller(fixed, newBase);
    }
    for (const row of anew ? [] : rows) {
      const start = Math.max(at, row.start);
      const full = fullOf(row);
      const own = inRows.filter(sold => sold.start >= row.start && sold.end <= row.end);
      const changedKeys = [0, 1, 2].filter(item => !same(itemOf(from, item), itemOf(to, item)));
      for (const key of changedKeys) {
        const old = own.filter(({ line }) => line.item === key);
        const now = itemOf(to, key);
        lines.push(...old.map(sold => credit(sold, at)), ...(now ? [charge(now, start, row.end, full)] : []));
        ended.push(...old);
      }
      const kept = own.filter(({ line }) => !changedKeys.includes(line.item));
      const keptOff = kept.reduce(
        (total, { line, start: s, end: e }) => total + rounded(line.discount, BigInt(full), BigInt(e - s)),
        0n,
      );
      const most = smaller(fixed, newBase) - keptOff;
      off += rounded(most > 0n ? most : 0n, BigInt(row.end - start), BigInt(full));
    }
    if (lines.length === 0) return undefined;
    lines.push(...usage);
    const { code } = this.h;
    const carries = code?.recurring && inRows.some(({ line }) => line.discount > 0n);
    const terms = code?.terms.kind === 'fixed' ? { kind: 'fixed' as const, amount: off } : code?.terms;
    return { doc: this.document(lines, at, carries ? terms : undefined, false), ended };
  }

  /** The end at a time: what is paid for later, and with `prorate` what is left of now, is given back. */
  end(at: number, periodEnd: number, prorate: boolean, usage: readonly NaiveLine[]): void {
    const ended = this.sold.filter(sold => sold.end > at && (prorate || sold.start >= periodEnd));
    const lines = [...ended.map(sold => credit(sold, at)), ...usage];
    if (lines.length > 0) this.document(lines, at, undefined, false);
    this.over(ended);
  }

  /** Lines of a paid document are in force. */
  paid(doc: Expected): void {
    for (const line of doc.lines) {
      if (line.source === undefined && line.item !== USAGE)
        this.sold.push({ line, start: line.start, end: line.end, credited: 0n, doc });
    }
  }

  over(ended: readonly Sold[]): void {
    this.sold = this.sold.filter(sold => !ended.includes(sold));
  }

  /** A document ends unpaid: promo credit and a one-time code come back, and what it had given back is not. */
  lapse(doc: Expected): void {
    doc.isVoid = true;
    if (doc.isCycle && doc.lines.some(line => line.discount > 0n)) this.waits = true;
    this.promo += doc.promoCost;
    for (const { source, gross, promoBack = 0n } of doc.lines) {
      if (source) (source as Sold).credited += gross;
      this.promo -= promoBack;
    }
  }

  /** Lines sell another stretch: their period was moved. */
  move(from: Row, start: number, end: number): void {
    for (const sold of this.sold) {
      if (sold.start >= from.start && sold.end <= from.end) Object.assign(sold, { start, end });
    }
  }

  /** The discount of a period's invoice: once, or for the first so many. */
  private cycleTerms(): Code['terms'] | undefined {
    const { code } = this.h;
    if (!code) return undefined;
    if (!code.recurring) return this.waits ? code.terms : undefined;
    const used = this.expected.filter(doc => doc.isCycle && !doc.isVoid && doc.lines.some(line => line.discount > 0n));
    // a first invoice has the code whatever its limit is
    return this.expected.length > 0 && code.cycleLimit > 0 && used.length >= code.cycleLimit ? undefined : code.terms;
  }

  private document(lines: NaiveLine[], at: number, terms: Code['terms'] | undefined, isCycle: boolean): Expected {
    const { promo } = this.h;
    const promoCost = priced(lines, terms, promo && isCycle ? { ...promo, balance: this.promo } : undefined);
    const total = lines.reduce((sum, line) => sum + netOf(line) + line.tax, 0n);
    const doc = { at, lines, isVoid: false, total, promoCost, isCycle };
    this.promo -= promoCost;
    for (const line of lines) {
      if (line.source) (line.source as Sold).credited -= line.gross;
      this.promo += line.promoBack ?? 0n;
    }
    if (isCycle && lines.some(line => line.discount > 0n)) this.waits = false;
    this.expected.push(doc);
    return doc;
  }
}

const smaller = (a: bigint, b: bigint) => (a < b ? a : b);
const itemOf = (items: readonly Item[], key: number) => items.find(({ item }) => item === key);
const same = (a?: Item, b?: Item) => a?.plan === b?.plan && a?.price === b?.price;

/** The unused time of a line is given back at its own rate. */
function credit(sold: Sold, at: number): NaiveLine {
  const { line, start, end, credited, doc } = sold;
  const from = Math.max(at, start);
  const [unused, length] = [BigInt(end - from), BigInt(end - start)];
  const amount = smaller(rounded(netOf(line), unused, length), netOf(line) - credited);
  const promoTotal = doc.lines.reduce((total, each) => total + each.promo, 0n);
  const promoBack = promoTotal === 0n ? 0n : (doc.promoCost * line.promo * unused) / (promoTotal * length);
  const own = { item: line.item, start: from, end, gross: -amount, full: 0n, rate: line.rate };
  return { ...own, discount: 0n, promo: 0n, tax: 0n, source: sold, promoBack };
}
