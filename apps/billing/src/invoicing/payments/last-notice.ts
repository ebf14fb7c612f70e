import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, work } from '@recur/platform';
import { invoiceAggregate } from '../aggregates.js';
import { Notices } from '../finish/notices.js';
import { LAST_NOTICE } from './collect.js';

/** Tells users of invoices that are still open that their deadline is near. */
@Injectable()
export class LastNotices {
  readonly work: Work = work(
    LAST_NOTICE,
    { time: 'merchant', logged: false },
    eachItem((tx, { key }) => this.tell(tx, key)),
  );

  constructor(private readonly notices: Notices) {}

  private async tell(tx: Tx, invoiceId: string): Promise<void> {
    const invoice = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
    if (invoice.status !== 'processing') return;
    await this.notices.tell(tx, 'lastNotice', invoice);
  }
}
