import { type Row, Sales } from './sales.js';
import type { Terms } from './terms.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
/** `lead`: before its period an invoice is charged. `unpaid`: after that began the subscription ends, after `first` a new one. */
export const times = { lead: 2 * HOUR, grace: HOUR, retry: 12 * HOUR, unpaid: DAY, first: 3 * DAY, late: 60 } as const;

/**
 * How charges of a card end: at once, late, declined for now or for good, or with a question to its user. A wire is not
 * charged: it arrives.
 */
export type Card = 'pays' | 'paysLate' | 'declines' | 'declinesForGood' | 'asks' | 'wire';
export type Status = 'pending' | 'active' | 'incomplete' | 'cancelled' | 'expired' | 'failed';

/** A step that is due at a time. */
export interface Due {
  at: number;
  make: () => void;
}

/** The charges of a subscription: when a card is charged, and what comes of it. */
export abstract class Collection {
  readonly sales: Sales;
  rows: Row[] = [];
  /** The time to which it has come. */
  now: number;
  status: Status = 'pending';
  /** Names of the events of the subscription, in their order, but for mere updates. */
  readonly events: string[] = ['created'];

  constructor(
    protected readonly terms: Terms,
    protected card: Card,
  ) {
    this.sales = new Sales(terms);
    this.now = terms.start;
  }

  get hasEnded(): boolean {
    return this.status === 'cancelled' || this.status === 'expired' || this.status === 'failed';
  }

  /** True where the invoice of a change is paid at once. */
  get paysChanges(): boolean {
    return this.card === 'pays' || this.card === 'paysLate' || this.isByWire;
  }

  get isByWire(): boolean {
    return this.card === 'wire';
  }

  /** The row whose invoice is to be paid. */
  get unpaid(): Row | undefined {
    return this.rows.find(({ open }) => open);
  }

  get isAsked(): boolean {
    return this.rows.some(({ open, charge }) => open && charge?.isAsked);
  }

  /** The user has another card; what an earlier one was declined for is charged at once. */
  useCard(card: Card): void {
    this.card = card;
    for (const row of this.rows) if (row.open && row.charge?.hasFailed) this.charge(row, { isPlanned: false });
  }

  /** A transfer arrives for an open invoice: what is due, less or more. */
  receive(row: Row, arrived: bigint): void {
    this.pay(row, arrived);
  }

  /** The user answers the question of a card. */
  approve(): void {
    for (const row of this.rows) if (row.open && row.charge?.isAsked) this.pay(row);
  }

  /** A row whose invoice is to be paid from a time on, by a deadline that is 0 where its first charge sets it. */
  protected opened(row: Row, from: number, deadline = 0): void {
    row.charge = { at: Math.max(this.now, from), deadline, paysAt: Infinity, hasFailed: false, isAsked: false };
    if (!this.isByWire) return;
    row.charge.deadline ||= this.deadlineOf(row);
    if (row === this.current && this.status === 'active') this.pastDue();
  }

  private deadlineOf({ start }: Row): number {
    return this.status === 'pending' ? start + times.first : Math.max(start, this.now) + times.unpaid;
  }

  /** The next step for the row whose invoice is open. */
  protected get collecting(): Due | undefined {
    const row = this.unpaid;
    const { charge } = row ?? {};
    if (!row || !charge || this.isHeld(row)) return undefined;
    const { at, paysAt, deadline } = charge;
    if (paysAt < Infinity) return { at: paysAt, make: () => this.pay(row) };
    const isCharged = !this.isByWire && (deadline === 0 || at < deadline);
    if (isCharged) return { at, make: () => this.charge(row, { isPlanned: true }) };
    return { at: deadline, make: () => this.expire(row) };
  }

  private charge(row: Row, { isPlanned }: { isPlanned: boolean }): void {
    const { charge } = row;
    if (!charge) return;
    charge.deadline ||= this.deadlineOf(row);
    if (isPlanned) charge.at = this.now + times.retry;
    charge.hasFailed = this.card === 'declines' || this.card === 'declinesForGood';
    charge.isAsked = this.card === 'asks';
    if (this.card === 'asks' || this.card === 'declinesForGood') charge.at = Infinity;
    if (this.card === 'paysLate') charge.paysAt = this.now + times.late;
    if (this.card === 'pays') this.pay(row);
    // charged when its usage was complete, after its period had begun
    else if (charge.hasFailed && row === this.current && this.status === 'active') this.pastDue();
  }

  protected pay(row: Row, arrived?: bigint): void {
    row.open = false;
    row.charge = undefined;
    if (row.doc) this.sales.paid(row.doc, arrived);
    if (this.hasEnded) return;
    if (this.status === 'pending') this.events.push('activated');
    else if (row.doc) this.events.push('auto_renew.success');
    if (this.status === 'incomplete') this.events.push('activated');
    this.status = 'active';
  }

  protected pastDue(): void {
    this.status = 'incomplete';
    this.events.push('auto_renew.failure');
  }

  /** The deadline of an open invoice: the subscription ends with it. */
  protected expire(row: Row): void {
    const { status } = this;
    if (row.doc) this.sales.lapse(row.doc, 'failed');
    row.open = false;
    if (this.hasEnded) return;
    this.ended(status === 'pending' ? 'failed' : 'expired');
  }

  protected ended(status: Status): void {
    const hasBegun = this.status !== 'pending';
    this.status = status;
    this.events.push(status);
    if (hasBegun) this.events.push('track.user.outofsubscribe');
  }

  protected abstract get current(): Row | undefined;

  /** True for an invoice that is not charged for now: the subscription is to end before its period. */
  protected abstract isHeld(row: Row): boolean;
}
