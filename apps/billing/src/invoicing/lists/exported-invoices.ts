import {
  bizType,
  type ExportRow,
  type In,
  type listInvoices,
  majorUnits,
  nameOfCode,
  percentText,
  type User,
} from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../../customers/exported.js';
import { gatewaysById } from '../../gateways/lookup.js';
import { dueOf } from '../domain/invoice.js';
import { type InvoiceRow, invoices } from '../tables.js';
import { dueDateOf } from '../views.js';
import { shownWhere, usersNamed } from './invoice-list.js';

/** Properties that the columns are made of: lines and facts of subscriptions are large, and not read. */
const read = [
  ...(['id', 'invoiceId', 'number', 'invoiceName', 'status', 'createFrom', 'bizType', 'kind', 'userId'] as const),
  ...(['subscriptionId', 'periodStart', 'periodEnd', 'createTime', 'finishTime', 'paidTime'] as const),
  ...(['daysUntilDue', 'deadline', 'currency', 'taxBps', 'gatewayId', 'paymentId', 'buyer', 'discount'] as const),
  ...(['originAmount', 'discountAmount', 'promoAmount', 'totalAmountExcludingTax', 'taxAmount'] as const),
  ...(['totalAmount', 'partialCreditPaid', 'refundedAmount'] as const),
];
type Row = Pick<InvoiceRow, (typeof read)[number]>;

/** The next invoices of invoice/list, newest first, as rows of an export. */
export async function exportedInvoices(
  db: Db,
  caller: Caller,
  input: In<typeof listInvoices>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'InvoiceExport'>>> {
  const byName = await usersNamed(db, caller, input);
  return db.read(caller, async reader => {
    const where = await shownWhere(reader, input, byName);
    const { rows, next } = await reader.slice({ from: invoices, where, by: ['createTime', 'id'], only: read, ...at });
    const [users, gateways] = await Promise.all([usersOfRows(reader, rows), gatewaysById(reader)]);
    const shown = rows.map(row => rowOf(row, users.get(row.userId), gateways.get(row.gatewayId)?.gatewayName ?? ''));
    return { rows: shown, next };
  });
}

function rowOf(row: Row, user: User | undefined, gatewayName: string): ExportRow<'InvoiceExport'> {
  const { currency, buyer, subscriptionId } = row;
  const amount = (minor: bigint) => majorUnits(minor, currency);
  return {
    InvoiceId: row.invoiceId,
    InvoiceNumber: row.number,
    InvoiceName: row.invoiceName,
    Status: row.status,
    CreateFrom: row.createFrom,
    BizType: nameOfCode(bizType, row.bizType),
    SubscriptionId: subscriptionId,
    PeriodStart: subscriptionId === '' ? 0 : row.periodStart,
    PeriodEnd: subscriptionId === '' ? 0 : row.periodEnd,
    CreateTime: row.createTime,
    FinishTime: row.finishTime,
    PaidTime: row.paidTime,
    DueTime: dueDateOf(row).deadline,
    Currency: currency,
    DiscountCode: row.discount?.code ?? '',
    OriginAmount: amount(row.originAmount),
    DiscountAmount: amount(row.discountAmount),
    PromoCreditDiscountAmount: amount(row.promoAmount),
    TaxAmount: amount(row.taxAmount),
    TotalAmountExcludingTax: amount(row.totalAmountExcludingTax),
    TotalAmount: amount(row.totalAmount),
    PartialCreditPaidAmount: amount(row.partialCreditPaid),
    AmountDue: amount(dueOf(row)),
    RefundedAmount: amount(row.refundedAmount),
    TaxPercentage: percentText(row.taxBps),
    ...buyerColumns(row.userId, user),
    CompanyName: buyer?.companyName ?? '',
    CountryCode: buyer?.countryCode ?? '',
    VatNumber: buyer?.vATNumber ?? '',
    Gateway: gatewayName,
    PaymentId: row.paymentId,
  };
}
