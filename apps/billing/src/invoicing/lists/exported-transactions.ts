import {
  type ExportRow,
  type In,
  type listPaymentTimeline,
  majorUnits,
  nameOfCode,
  type PaymentTimelineDetail,
  timelineStatus,
  timelineType,
} from '@recur/contracts';
import type { Caller, Db, Reader, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../../customers/exported.js';
import { gatewaysById } from '../../gateways/lookup.js';
import { refunds } from '../refunds/tables.js';
import { payments } from '../tables.js';
import { ofPayment, ofRefund, sidesOf, sideWhere } from './timeline.js';

type Input = In<typeof listPaymentTimeline>;
type Side = ReturnType<typeof sidesOf>[number];
/** An entry of the timeline, and when it was paid or paid back. */
type Entry = PaymentTimelineDetail & { paidTime: number };

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
      const { rows, next } = await sliceOf(reader, side, input, { after: from, count });
      if (next !== undefined) return { rows: await rowsOf(reader, rows), next: `${side} ${next}` };
    }
    return { rows: [], next: undefined };
  });
}

async function sliceOf(reader: Reader, side: Side, input: Input, at: SliceAt): Promise<Sliced<Entry>> {
  const where = sideWhere(input, side);
  if (side === 'payment') {
    const { rows, next } = await reader.slice({ from: payments, where, by: ['createTime', 'paymentId'], ...at });
    return { rows: rows.map(row => ({ ...ofPayment(row), paidTime: row.paidTime })), next };
  }
  const { rows, next } = await reader.slice({ from: refunds, where, by: ['createTime', 'id'], ...at });
  return { rows: rows.map(row => ({ ...ofRefund(row, undefined), paidTime: row.refundTime })), next };
}

async function rowsOf(reader: Reader, entries: readonly Entry[]): Promise<ExportRow<'TransactionExport'>[]> {
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
