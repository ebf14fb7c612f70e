import type { InvoiceInput } from '../../../src/invoices/domain/items.js';
import { type CalculatedInvoice } from '../../../src/invoices/issuing/calculate.js';
import { sellsUsage } from '../../../src/subscriptions/arrears.js';
import { upcomingInvoiceOf } from '../../../src/subscriptions/change/upcoming-invoice.js';
import { type Update } from '../../../src/subscriptions/domain/apply-change.js';
import { firstInput, renewalInput } from '../../../src/subscriptions/domain/invoice-input.js';
import { type Period, type PeriodRow } from '../../../src/subscriptions/domain/periods.js';
import { nextStep, periodOf, renewalState } from '../../../src/subscriptions/domain/renewal.js';
import { advanced, type Subscription } from '../../../src/subscriptions/domain/subscription.js';
import { leadOf, nextInvoiceMoment } from '../../../src/subscriptions/schedule.js';
import { Books, type Made } from './books.js';
import type { History } from './history.js';
import { Meter } from './meter.js';
import { Rows } from './rows.js';
import { begun } from './terms.js';

export type Waiting = Update & { terms: Record<string, unknown> };

export const boundCode = { discountId: 1, code: 'C' };
const HOUR = 3600;
/** Before the start of a period its invoice is charged. */
const chargeLead = 2 * HOUR;

/** The billing cycle of a subscription in memory, each step of which is that of the service. */
export abstract class Course {
  readonly books: Books;
  protected readonly periods = new Rows();
  protected readonly meter: Meter;
  now: number;
  sub: Subscription;
  protected update: Waiting | undefined;
  /** Composes what the next invoice would be, in the state that holds since. */
  protected next: (() => CalculatedInvoice) | undefined;

  constructor(protected readonly history: History) {
    this.now = history.start;
    this.books = new Books(history);
    const { sub, period } = begun(history);
    this.sub = sub;
    this.meter = new Meter(sub);
    this.create(period);
  }

  get rows(): PeriodRow[] {
    return this.periods.all;
  }

  protected create(period: Period): void {
    const { code } = this.history;
    const terms = { ...(code && { discount: { is: 'code', code: 'C', operation: 'create' } as const }) };
    const bill = firstInput(this.sub, period, { ...terms, promo: { cap: 0, apply: true } }, this.now);
    const made = bill.items.length > 0 ? this.books.make(bill, this.now) : undefined;
    const isUsed = code && (made?.calculated.composition.amounts.discountAmount ?? 0n) > 0n;
    const waits = code && !code.recurring && !isUsed;
    const bound = { ...boundCode, recurring: code?.recurring ?? false, waitingUseId: waits ? 1 : 0 };
    this.sub = { ...this.sub, discount: code && (code.recurring || waits) ? bound : null };
    this.addRow(period, made?.document.invoiceId ?? '', 'paid');
    if (made) made.state = 'paid';
    this.preview();
  }

  /** The draft of the current period: nothing is changed while it waits for usage. */
  protected get draft(): PeriodRow | undefined {
    const { current } = renewalState(this.sub, this.rows);
    return current?.finishAt ? current : undefined;
  }

  protected waitForDraft(): void {
    // the next one may begin with it
    while (this.draft) this.liveTo(this.draft.finishAt);
  }

  protected placed(part: number): number {
    const { currentPeriodStart: start, currentPeriodEnd: end } = this.sub;
    return Math.max(this.now, start + Math.floor(((end - 1 - start) * part) / 1000));
  }

  // the cycle

  protected get upcoming(): PeriodRow | undefined {
    return renewalState(this.sub, this.rows).upcoming;
  }

  /** Makes every step of the cycle up to a time, and charges each invoice at its time. */
  protected liveTo(time: number): void {
    for (;;) {
      const state = renewalState(this.sub, this.rows);
      const retryIntervalSeconds = this.history.retryHours * HOUR;
      const due = nextStep(state, { leadSeconds: leadOf(this.sub), retryIntervalSeconds });
      const { upcoming } = state;
      const chargedAt =
        upcoming?.state === 'open' && !upcoming.finishAt ? Math.max(this.now, upcoming.startAt - chargeLead) : Infinity;
      const at = Math.min(due?.at ?? Infinity, chargedAt);
      if (at > time) break;
      this.now = Math.max(this.now, at);
      if (upcoming && chargedAt <= at) this.charge(upcoming);
      else if (due?.step === 'invoice') this.renew();
      else if (due?.step === 'advance') this.enter();
      else if (due?.step === 'billUsage') this.finish();
      else throw new Error(`the cycle wants to ${due?.step}`);
      this.preview();
    }
    this.now = Math.max(this.now, time);
  }

  protected preview(): void {
    const { sub, update, now, rows, draft, meter } = this;
    this.next = () => {
      const usage = meter.items(draft?.startAt ?? sub.currentPeriodEnd, rows);
      const bill = draft
        ? renewalInput(sub, periodOf(sub, draft), usage, draft.finishAt)
        : upcomingInvoiceOf(sub, update, nextInvoiceMoment({ now }, sub), { usage }).input;
      return this.books.compose(bill);
    };
  }

  protected renew(): void {
    const { input: bill, period } = upcomingInvoiceOf(this.sub, this.update, this.now);
    if (sellsUsage(this.sub.planSnapshot)) {
      this.addRow(period, '', 'open', Math.min(period.start + HOUR, period.end));
    } else if (bill.items.length === 0) this.addRow(period, '', 'paid');
    else {
      const { document } = this.invoice(bill);
      this.addRow(period, document.invoiceId, document.totalAmount <= 0n ? 'paid' : 'open');
    }
  }

  /** The usage before the current period is complete: its invoice is made, and charged at once. */
  protected finish(): void {
    const { draft, sub } = this;
    if (!draft) return;
    const bill = renewalInput(sub, periodOf(sub, draft), this.meter.items(draft.startAt, this.rows), this.now);
    const made = bill.items.length > 0 ? this.invoice(bill) : undefined;
    if (made) made.state = 'paid';
    this.meter.billed(draft.startAt);
    this.periods.replace(draft, { state: 'paid', finishAt: 0, invoiceId: made?.document.invoiceId ?? '' });
  }

  protected invoice(bill: InvoiceInput): Made {
    const made = this.books.make(bill, this.now, this.next?.());
    const { discount } = this.sub;
    const isUsed = discount && !discount.recurring && made.calculated.composition.amounts.discountAmount > 0n;
    this.sub = { ...this.sub, ...(isUsed && { discount: null }) };
    if (made.document.totalAmount <= 0n) made.state = 'paid';
    return made;
  }

  protected charge(row: PeriodRow): void {
    this.periods.replace(row, { ...row, state: 'paid' });
    const made = this.books.of(row.invoiceId);
    if (made) made.state = 'paid';
  }

  protected enter(): void {
    const { upcoming } = this;
    if (this.update) this.carryOut(this.update);
    else if (upcoming) this.sub = advanced(this.sub, periodOf(this.sub, upcoming));
  }

  protected addRow(period: Period, invoiceId: string, state: PeriodRow['state'], finishAt = 0): void {
    this.periods.add(period, { invoiceId, state, finishAt, createTime: this.now });
  }

  /** The open invoice of the next period is cancelled, to be made again. */
  protected withdrawNext(): void {
    const { upcoming } = this;
    if (upcoming?.state !== 'open') return;
    this.periods.replace(upcoming, { ...upcoming, state: 'void' });
    const made = this.books.of(upcoming.invoiceId);
    if (!made) return;
    made.state = 'void';
    this.books.giveBack(made);
    const { code } = this.history;
    const waits = code && !code.recurring && made.document.discountAmount > 0n;
    if (waits) this.sub = { ...this.sub, discount: { ...boundCode, recurring: false, waitingUseId: 1 } };
  }

  /** The deferred change of a subscription whose period is over. */
  protected abstract carryOut(update: Waiting): void;
}
