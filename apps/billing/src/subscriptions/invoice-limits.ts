import { Injectable } from '@nestjs/common';
import { type Tx, type Work, work } from '@recur/platform';
import { invoiceAggregate } from '../invoicing/aggregates.js';
import type { InvoiceState } from '../invoicing/state.js';
import { Arrears, hasUsage } from './arrears.js';

/** Kind of due work: the limits of an invoice's period are kept, as they are once it is paid; the key is its id. */
const KEEP_LIMITS = 'usage.snapshot';

/** Schedules that the limits of a paid invoice's period are kept, where it has any. */
export function keepLimitsOf(tx: Tx, { invoiceId, billReason, billed }: InvoiceState): void {
  if (billReason === 'onetime' || !billed?.planSnapshot) return;
  if (hasUsage(billed.planSnapshot)) tx.schedule(KEEP_LIMITS, invoiceId, tx.now);
}

/** Keeps the limits of paid invoices. It comes after the payment is committed: the first one makes the subscription live. */
@Injectable()
export class InvoiceLimits {
  readonly work: Work = work(KEEP_LIMITS, { time: 'merchant', logged: false }, (tx, items) =>
    tx.together(items, item => this.keep(tx.item(item), item.key)),
  );

  constructor(private readonly arrears: Arrears) {}

  private async keep(tx: Tx, invoiceId: string): Promise<void> {
    await this.arrears.keepLimits(tx, await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found'));
  }
}
