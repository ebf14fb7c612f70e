import { createFrom } from '@recur/contracts';
import { creditableIn } from '../../../src/invoices/crediting/creditable-lines.js';
import { type CreditableLine, creditedPromo, type InvoiceInput } from '../../../src/invoices/domain/items.js';
import { type CalculatedInvoice, calculatedFrom } from '../../../src/invoices/issuing/calculate.js';
import { invoiceStateOf } from '../../../src/invoices/issuing/composed.js';
import type { InvoiceState } from '../../../src/invoices/state.js';
import type { LineRow } from '../../../src/invoices/tables.js';
import { discountsCycle } from '../../../src/pricing/discount.js';
import type { ServicePeriod } from '../../../src/pricing/proration.js';
import type { PeriodRow } from '../../../src/subscriptions/domain/periods.js';
import type { TaxContext } from '../../../src/tax/decide.js';
import type { History } from './history.js';
import { taxOf } from './terms.js';

/** A document of a life, with what was previewed. */
export interface Made {
  at: number;
  /** Paid, or cancelled unpaid. */
  state: 'open' | 'paid' | 'void';
  calculated: CalculatedInvoice;
  document: InvoiceState;
  preview: CalculatedInvoice;
  /** Its lines as they were made. */
  lines: readonly LineRow[];
}

/** The documents of a life, and the promo credit that they leave. */
export class Books {
  readonly made: Made[] = [];
  private promo: bigint;
  private readonly tax: TaxContext;

  constructor(private readonly history: History) {
    this.promo = history.promo?.balance ?? 0n;
    this.tax = taxOf(history);
  }

  of(invoiceId: string): Made | undefined {
    return this.made.find(({ document }) => document.invoiceId === invoiceId);
  }

  /** Makes the document of a bill; `preview` is what was previewed of it. */
  make(bill: InvoiceInput, now: number, preview?: CalculatedInvoice): Made {
    const calculated = this.compose(bill);
    const invoiceId = `in_${this.made.length + 1}`;
    const context = { merchantId: 15, id: this.made.length + 1, invoiceId, createFrom: createFrom.api, now: now };
    const document = invoiceStateOf(calculated, context);
    const made: Made = {
      at: now,
      state: 'open',
      calculated,
      document,
      preview: preview ?? calculated,
      lines: document.lines.map(line => ({ ...line })),
    };
    this.made.push(made);
    this.promo += -calculated.composition.promoCredits;
    for (const line of document.lines) {
      const source = line.sourceLineId && this.line(line.sourceLineId);
      if (!source) continue;
      source.creditedNet -= line.amountExcludingTax;
      this.promo += creditedPromo(line);
    }
    return made;
  }

  /** Takes back what a document that ended unpaid had taken and given. */
  giveBack({ calculated, document }: Made): void {
    this.promo += calculated.composition.promoCredits;
    for (const line of document.lines) {
      const source = line.sourceLineId && this.line(line.sourceLineId);
      if (!source) continue;
      source.creditedNet += line.amountExcludingTax;
      this.promo -= creditedPromo(line);
    }
  }

  compose(bill: InvoiceInput): CalculatedInvoice {
    const { promo } = this.history;
    const asked = promo && (bill.promo?.apply ?? true);
    const facts = { tax: this.tax, products: new Map(), gateway: undefined, refused: undefined };
    const terms = promo && { balance: this.promo, exchangeRate: promo.rate, decimals: 2 };
    return calculatedFrom(bill, { ...facts, discount: this.granted(bill), promo: asked ? terms : undefined });
  }

  private granted({ discount }: InvoiceInput): CalculatedInvoice['discount'] {
    const { code } = this.history;
    if (!discount || !code) return undefined;
    const granted = { code: 'C', terms: code.terms, discountId: 1, recurring: code.recurring };
    if (discount.is === 'terms') return { ...granted, terms: discount.terms };
    if (discount.is !== 'bound') return granted;
    const cycles = new Set(['create', 'cycle', 'trialStep']);
    const used = this.made.filter(
      ({ state, document }) => state !== 'void' && cycles.has(document.billReason) && document.discountAmount > 0n,
    );
    return discountsCycle(code.cycleLimit, used.length) ? granted : undefined;
  }

  /** Lines of paid documents that sell time after a moment. */
  sold(from: number): CreditableLine[] {
    return this.made.flatMap(({ state, document }) =>
      state === 'paid' ? creditableIn(document, document.lines, from) : [],
    );
  }

  private line(lineId: string) {
    return this.made.flatMap(({ document }) => document.lines).find(line => line.lineId === lineId);
  }

  endLines(ended: readonly CreditableLine[], at: number): void {
    for (const { lineId } of ended) {
      const line = this.line(lineId);
      if (line) line.endAt = Math.max(at, line.startAt);
    }
  }

  /** Lines that bill a next period. */
  linesOf({ state, invoiceId, startAt }: PeriodRow): CreditableLine[] {
    const document = this.of(invoiceId)?.document;
    return state === 'paid' || !document ? this.sold(startAt) : creditableIn(document, document.lines, startAt);
  }

  /** Moves the time that lines sell. */
  moveLines(from: ServicePeriod, to: ServicePeriod): void {
    for (const line of this.made.flatMap(({ state, document }) => (state === 'paid' ? document.lines : []))) {
      if (line.startAt === from.start && line.endAt === from.end)
        Object.assign(line, { startAt: to.start, endAt: to.end });
    }
  }
}
