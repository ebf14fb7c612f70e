import { Controller } from '@nestjs/common';
import {
  type ExportRow,
  type In,
  type listPaymentTimeline,
  majorUnits,
  nameOfCode,
  type PaymentTimelineDetail,
  paymentStatus,
  splitPayments,
  timelineStatus,
  timelineType,
} from '@recur/contracts';
import { type Caller, Db, Handle, type Reader, type SliceAt, type Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../customers/users.js';
import { gatewaysById } from '../gateways/gateway-index.js';
import { amountDue } from '../invoices/domain/invoice.js';
import { payments, refunds } from '../invoices/payment-tables.js';
import { invoices } from '../invoices/tables.js';
import { ofPayment, ofRefund, sidesOf, sideWhere } from './timeline.js';

type Input = In<typeof listPaymentTimeline>;
type Side = ReturnType<typeof sidesOf>[number];
/** An entry of the timeline, and when it was paid or paid back. */
type PaidEntry = PaymentTimelineDetail & { paidTime: number };

/** The next payments of payment/timeline/list, and then its refunds, newest first, as rows of an export. */
export function exportedTransactions(
  db: Db,
  caller: Caller,
  input: Input,
  { after, count }: SliceAt,
): Promise<Sliced<ExportRow<'TransactionExport'>>> {
  const sides = sidesOf(input);
  const [given, rest] =
    after === '' ? [sides[0], ''] : [sides.find(side => after.startsWith(side)), after.slice(after.indexOf(' ') + 1)];
  return db.read(caller, async reader => {
    for (let side = given, from = rest; side !== undefined; side = sides[sides.indexOf(side) + 1], from = '') {
      const { rows, next } = await transactionSlice(reader, side, input, { after: from, count });
      if (next !== undefined) return { rows: await transactionRows(reader, rows), next: `${side} ${next}` };
    }
    return { rows: [], next: undefined };
  });
}

async function transactionSlice(reader: Reader, side: Side, input: Input, at: SliceAt): Promise<Sliced<PaidEntry>> {
  const where = sideWhere(input, side);
  if (side === 'payment') {
    const { rows, next } = await reader.slice({ from: payments, where, by: ['createTime', 'paymentId'], ...at });
    return { rows: rows.map(row => ({ ...ofPayment(row), paidTime: row.paidTime })), next };
  }
  const { rows, next } = await reader.slice({ from: refunds, where, by: ['createTime', 'id'], ...at });
  return { rows: rows.map(row => ({ ...ofRefund(row, undefined), paidTime: row.refundTime })), next };
}

async function transactionRows(
  reader: Reader,
  entries: readonly PaidEntry[],
): Promise<ExportRow<'TransactionExport'>[]> {
  const [users, gateways] = await Promise.all([usersOfRows(reader, entries), gatewaysById(reader)]);
  return entries.map(entry => ({
    TransactionId: entry.transactionId,
    ExternalTransactionId: entry.externalTransactionId,
    Type: nameOfCode(timelineType, entry.timelineType),
    Status: nameOfCode(timelineStatus, entry.status),
    Currency: entry.currency,
    TotalAmount: majorUnits(entry.totalAmount, entry.currency),
    Gateway: gateways.get(entry.gatewayId)?.gatewayName ?? '',
    FailureReason: entry.failureReason,
    CreateTime: entry.createTime,
    PaidTime: entry.paidTime,
    InvoiceId: entry.invoiceId,
    PaymentId: entry.paymentId,
    RefundId: entry.refundId,
    SubscriptionId: entry.subscriptionId,
    ...buyerColumns(entry.userId, users.get(entry.userId)),
  }));
}

/** invoice/split_payments: what an invoice was, or is being, collected by. */
@Controller()
export class SplitPayments {
  constructor(private readonly db: Db) {}

  @Handle(splitPayments)
  list({ invoiceId }: In<typeof splitPayments>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const invoice = await reader.get(invoices, { invoiceId, kind: 'invoice' }, 'invoice_not_found');
      const [all, gateways] = await Promise.all([
        reader.all(payments, { invoiceId }, 'order by create_time, payment_id'),
        gatewaysById(reader),
      ]);
      const paid = all.filter(({ status }) => status === 'success');
      const shown = paid.length > 0 ? paid : all.filter(({ paymentId }) => paymentId === invoice.paymentId);
      return {
        payments: shown.map((payment, at) => {
          const { paymentId, currency, status, gatewayId, link, createTime, paidTime } = payment;
          return {
            paymentId,
            currency,
            gatewayId,
            link,
            createTime,
            paidTime,
            splitSequence: at + 1,
            totalAmount: Number(payment.totalAmount),
            status: paymentStatus[status],
            gatewayName: gateways.get(gatewayId)?.gatewayName ?? '',
          };
        }),
        totalAmount: Number(invoice.totalAmount - invoice.partialCreditPaid),
        paidAmount: Number(paid.reduce((sum, { paymentAmount }) => sum + paymentAmount, 0n)),
        remainingAmount: invoice.status === 'processing' ? Number(amountDue(invoice)) : 0,
      };
    });
  }
}
