import { Controller } from '@nestjs/common';
import { type In, metricHistoryByInvoice, metricHistoryInvoices } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { snapshotInvoices, usageOfInvoice } from '../../usage/snapshots.js';
import { SubscriptionFacts } from '../../usage/subscription-facts.js';
import { invoices } from '../tables.js';
import { invoicesOf } from './details.js';

/** The usage that belongs to invoices of subscriptions. */
@Controller()
export class InvoiceUsage {
  constructor(
    private readonly db: Db,
    private readonly facts: SubscriptionFacts,
  ) {}

  @Handle(metricHistoryByInvoice)
  byInvoice({ invoiceId }: In<typeof metricHistoryByInvoice>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await reader.get(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const usage = await usageOfInvoice(reader, this.facts, invoiceId);
      if (!usage) throw new Rejected('invoice_without_subscription');
      return usage;
    });
  }

  @Handle(metricHistoryInvoices)
  queryable(input: In<typeof metricHistoryInvoices>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { userId, subscriptionId = '', page, count } = input;
      const { invoiceIds, total } = await snapshotInvoices(reader, { userId, subscriptionId, page, count });
      const rows = new Map((await reader.among(invoices, 'invoiceId', invoiceIds)).map(row => [row.invoiceId, row]));
      const found = invoiceIds.flatMap(id => rows.get(id) ?? []);
      return { invoices: await invoicesOf(reader, found), total };
    });
  }
}
