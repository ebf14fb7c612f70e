import { Controller } from '@nestjs/common';
import {
  emptyOf,
  type In,
  metricHistoryByInvoice,
  metricHistoryBySubscription,
  metricHistoryInvoices,
  UserHistoryMetric,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { limitsKept, limitsNow, snapshotInvoices } from '../../usage/limits/period-end.js';
import { MeteredSubscriptions } from '../../usage/metered-subscriptions.js';
import { invoices } from '../tables.js';
import { invoicesOf } from './details.js';

const emptyHistory = emptyOf(UserHistoryMetric);
const latestText = `select invoice_id from invoices where merchant_id = $1 and subscription_id <> ''
  and subscription_id = $2 and status = 'paid' and kind = 'invoice' and bill_reason <> 'onetime'
  order by paid_time desc, id desc limit 1`;

/** The invoice of a subscription that was paid last, those of add-ons that are sold once left out; '' for none. */
async function latestPaid(reader: Reader, subscriptionId: string): Promise<string> {
  const [row] = await reader.query(latestText, [reader.merchantId, subscriptionId]);
  return String(row?.invoice_id ?? '');
}

/** Usage of limits now, and as it was when the invoices of subscriptions were paid. */
@Controller()
export class InvoiceUsage {
  constructor(
    private readonly db: Db,
    private readonly metered: MeteredSubscriptions,
  ) {}

  @Handle(metricHistoryByInvoice)
  byInvoice({ invoiceId }: In<typeof metricHistoryByInvoice>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { subscriptionId } = await reader.get(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      if (subscriptionId === '') throw new Rejected('invoice_without_subscription');
      const isLatestPaidInvoice = (await latestPaid(reader, subscriptionId)) === invoiceId;
      const limitStats = isLatestPaidInvoice
        ? await limitsNow(reader, { metered: this.metered, subscriptionId })
        : await limitsKept(reader, invoiceId);
      return { isLatestPaidInvoice, userHistoryMetric: { ...emptyHistory, invoiceId, limitStats: limitStats ?? [] } };
    });
  }

  @Handle(metricHistoryBySubscription)
  bySubscription({ subscriptionId }: In<typeof metricHistoryBySubscription>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const limitStats = await limitsNow(reader, { metered: this.metered, subscriptionId });
      if (!limitStats) throw new Rejected('subscription_not_found');
      return {
        userHistoryMetric: { ...emptyHistory, invoiceId: await latestPaid(reader, subscriptionId), limitStats },
      };
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
