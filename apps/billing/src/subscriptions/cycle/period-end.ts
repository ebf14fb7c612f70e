import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import type { CycleState } from '../domain/cycle.js';
import { ended } from '../domain/subscription.js';
import { subscriptionPeriods } from '../tables.js';

/** Ends subscriptions with their current period. */
@Injectable()
export class PeriodEnd {
  constructor(
    private readonly owners: InvoiceOwners,
    private readonly endings: InvoiceEndings,
  ) {}

  /** Ends a subscription; the invoice of its next period, if there is one, is cancelled. */
  async end(tx: Tx, { sub, current, ahead }: CycleState): Promise<CycleState> {
    const over = ended(sub, 'cancel', sub.cancelReason || 'Cancelled at the end of the period', tx.now);
    tx.step(subscriptionAggregate, over, 'subscription.cancelled');
    if (!ahead) return { sub: over, current, ahead };
    tx.save(subscriptionPeriods, { ...ahead, state: 'void', remakeAt: 0 });
    if (ahead.state === 'open' && ahead.remakeAt === 0) {
      const invoice = await this.owners.lock(tx, { invoiceId: ahead.invoiceId }, 'invoice_not_found');
      if (invoice.status === 'processing') await this.endings.cancel(tx, invoice);
    }
    return { sub: over, current, ahead: undefined };
  }
}
