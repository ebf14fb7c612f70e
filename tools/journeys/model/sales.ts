import { type ModelLine, netOf, priced, rateAt, rounded, USAGE } from './money.js';
import { type Back, book, creditedNet, type Note, notReturned, refunded, waived } from './refunds.js';
import type { Code, Terms, Wish } from './terms.js';

/** A document as the oracle expects it. */
export interface Expected {
  at: number;
  lines: ModelLine[];
  state: 'open' | 'paid' | 'cancelled' | 'failed';
  total: bigint;
  /** Main credit that pays for a part of it. */
  spent: bigint;
  /** Promo credits that it takes. */
  promoCost: bigint;
  /** The invoice of a period. */
  isCycle: boolean;
  back: Back;
}

/** The charges of an open invoice; Infinity where none is planned. */
export interface Charge {
  at: number;
  /** 0 before the first charge. */
  deadline: number;
  /** The time at which a charge that was sent turns out to have gone through. */
  paysAt: number;
  hasFailed: boolean;
  /** True while the user is asked to confirm it. */
  isAsked: boolean;
}

export interface Row {
  kind: 'trial' | 'free' | 'cycle' | 'stub';
  start: number;
  end: number;
  open: boolean;
  doc: Expected | undefined;
  /** When it was added. */
  made: number;
  charge?: Charge | undefined;
  /** The time until which its invoice waits for the usage before it. */
  waits?: number;
  /** Subject of the bill. */
  wish: Wish;
}

/** A line that sells time, of a paid document. */
interface Sold {
  line: ModelLine;
  start: number;
  end: number;
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
  usage: readonly ModelLine[];
}

/** The documents that the oracle expects, and what they leave: lines in force, promo credit, uses of the code. */
export class Sales {
  readonly expected: Expected[] = [];
  /** Credit notes of refunds and bank charges. */
  readonly notes: Note[] = [];
  private sold: Sold[] = [];
  /** Promo credits. */
  promo: bigint;
  /** Main credit, in minor units. */
  main = 0n;
  /** The code waits for its first reduction. */
  private waits: boolean;

  constructor(private readonly terms: Terms) {
    this.promo = terms.promo?.balance ?? 0n;
    this.waits = terms.code !== undefined;
  }

  /** Price of a wish for a full period. */
  items({ plan, quantity, addons }: Wish): Item[] {
    const all = [
      { item: 0, plan, price: BigInt(this.terms.plans[plan] ?? 0) * BigInt(quantity) },
      ...addons.map((many, i) => ({ item: i + 1, plan: 0, price: BigInt(this.terms.addons[i] ?? 0) * BigInt(many) })),
    ];
    return all.filter(({ item }) => item === 0 || (addons[item - 1] ?? 0) > 0);
  }

  /** Bills a period; `part` of `full` seconds where it is a stub. */
  bill(
    items: readonly Item[],
    at: number,
    { start, end }: { start: number; end: number },
    { full, usage = [] }: { full: number; usage?: readonly ModelLine[] },
  ): Expected {
    const rate = rateAt(this.terms, at);
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
    const rate = rateAt(this.terms, at);
    const charge = ({ item, price }: Item, start: number, end: number, full: number): ModelLine => {
      const gross = smaller(rounded(price, BigInt(end - start), BigInt(full)), price);
      return { item, start, end, gross, full: price, rate, discount: 0n, promo: 0n, tax: 0n };
    };
    const lines: ModelLine[] = [];
    const ended: Sold[] = [];
    const newBase = to.reduce((total, { price }) => total + price, 0n);
    let off = 0n;
    const fixed = this.terms.code?.terms.kind === 'fixed' ? this.terms.code.terms.amount : 0n;
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
    // usage is billed with the lines of a change, and by itself where nothing is prorated
    if (lines.length === 0 && rows.length > 0) return undefined;
    lines.push(...usage);
    const { code } = this.terms;
    const carries = code?.recurring && inRows.some(({ line }) => line.discount > 0n);
    const terms = code?.terms.kind === 'fixed' ? { kind: 'fixed' as const, amount: off } : code?.terms;
    return { doc: this.document(lines, at, carries ? terms : undefined, false), ended };
  }

  /** The end at a time: what is paid for later, and with `prorate` what is left of now, is given back. */
  end(at: number, periodEnd: number, prorate: boolean, usage: readonly ModelLine[]): Expected | undefined {
    const ended = this.sold.filter(sold => sold.end > at && (prorate || sold.start >= periodEnd));
    const lines = [...ended.map(sold => credit(sold, at)), ...usage];
    this.over(ended);
    return lines.length > 0 ? this.document(lines, at, undefined, false, true) : undefined;
  }

  /**
   * Lines of a paid document are in force; what one is below zero is the user's credit, and what arrives beyond what is due.
   * Less than that leaves bank charges.
   */
  paid(doc: Expected, arrived = doc.total - doc.spent): void {
    doc.state = 'paid';
    const due = doc.total - doc.spent;
    if (due > 0n) doc.back.received = smaller(arrived, due);
    if (arrived < due) this.notes.push(waived(doc, due - arrived));
    else this.main += arrived - due;
    if (doc.total < 0n) this.main -= doc.total;
    for (const line of doc.lines) {
      if (line.source === undefined && line.item !== USAGE)
        this.sold.push({ line, start: line.start, end: line.end, doc });
    }
  }

  /** Gives back a part of what was paid for a document. */
  refund(doc: Expected, amount: bigint): void {
    const { note, toMain, promo } = refunded(doc, amount);
    this.notes.push(note);
    this.main += toMain;
    this.promo += promo;
  }

  over(ended: readonly Sold[]): void {
    this.sold = this.sold.filter(sold => !ended.includes(sold));
  }

  /** A document ends unpaid: promo credit and a one-time code come back, and what it had given back is not. */
  lapse(doc: Expected, state: 'cancelled' | 'failed' = 'cancelled'): void {
    doc.state = state;
    this.main += doc.spent;
    if (doc.isCycle && doc.lines.some(line => line.discount > 0n)) this.waits = true;
    this.promo += doc.promoCost;
    this.promo -= bookCredits(doc, -1n);
  }

  /** Lines sell another stretch: their period was moved. */
  move(from: Row, start: number, end: number): void {
    for (const sold of this.sold) {
      if (sold.start >= from.start && sold.end <= from.end) Object.assign(sold, { start, end });
    }
  }

  /** The discount of a period's invoice: once, or for the first so many. */
  private cycleTerms(): Code['terms'] | undefined {
    const { code } = this.terms;
    if (!code) return undefined;
    if (!code.recurring) return this.waits ? code.terms : undefined;
    const used = this.expected.filter(
      doc =>
        doc.isCycle && (doc.state === 'open' || doc.state === 'paid') && doc.lines.some(line => line.discount > 0n),
    );
    // a first invoice has the code whatever its limit is
    return this.expected.length > 0 && code.cycleLimit > 0 && used.length >= code.cycleLimit ? undefined : code.terms;
  }

  private document(
    lines: ModelLine[],
    at: number,
    terms: Code['terms'] | undefined,
    isCycle: boolean,
    takesPromo = isCycle,
  ): Expected {
    const { promo, digits } = this.terms;
    const promoCost = priced(
      lines,
      terms,
      promo && takesPromo ? { unit: promo.rate * 10n ** BigInt(digits), balance: this.promo } : undefined,
    );
    const total = lines.reduce((sum, line) => sum + netOf(line) + line.tax, 0n);
    const spent = this.terms.creditPays && total > 0n ? smaller(this.main, total) : 0n;
    this.main -= spent;
    const doc: Expected = { at, lines, state: 'open', total, spent, promoCost, isCycle, back: notReturned(lines) };
    this.promo += bookCredits(doc, 1n) - promoCost;
    if (isCycle && lines.some(line => line.discount > 0n)) this.waits = false;
    this.expected.push(doc);
    return doc;
  }
}

const smaller = (a: bigint, b: bigint) => (a < b ? a : b);
const itemOf = (items: readonly Item[], key: number) => items.find(({ item }) => item === key);
const same = (a?: Item, b?: Item) => a?.plan === b?.plan && a?.price === b?.price;

const returnedOf = ({ line, doc }: Sold) => doc.back.lines[doc.lines.indexOf(line)];

/** Counts what the credit lines of a document give back of earlier ones, or no longer do. Returns their promo credits. */
function bookCredits({ lines }: Expected, sign: 1n | -1n): bigint {
  let promo = 0n;
  for (const { source, gross, tax, promoBack = 0n } of lines) {
    const returned = source ? returnedOf(source as Sold) : undefined;
    if (!returned) continue;
    book(returned.credited, { net: gross, tax }, -sign);
    (source as Sold).doc.back.promoCredited += sign * promoBack;
    promo += promoBack;
  }
  return promo;
}

/** The unused time of a line is given back at its own rate. */
function credit(sold: Sold, at: number): ModelLine {
  const { line, start, end } = sold;
  const returned = returnedOf(sold);
  const credited = returned ? creditedNet(returned) : 0n;
  const from = Math.max(at, start);
  const [unused, length] = [BigInt(end - from), BigInt(end - start)];
  const amount = smaller(rounded(netOf(line), unused, length), netOf(line) - credited);
  const promoBack = promoBackOf(sold, unused, length);
  const own = { item: line.item, start: from, end, gross: -amount, full: 0n, rate: line.rate };
  return { ...own, discount: 0n, promo: 0n, tax: 0n, source: sold, promoBack };
}

/** Promo credits that come back with a part of a line, floored: at most what refunds did not give back of its share. */
function promoBackOf({ line, doc }: Sold, unused: bigint, length: bigint): bigint {
  const total = doc.lines.reduce((sum, each) => sum + each.promo, 0n);
  if (total === 0n) return 0n;
  const part = (doc.promoCost * line.promo * unused) / (total * length);
  const returned = (doc.back.promoRefunded * line.promo + total - 1n) / total;
  const rest = (doc.promoCost * line.promo) / total - returned;
  return rest < 0n ? 0n : smaller(part, rest);
}
