import { Controller } from '@nestjs/common';
import {
  bizType,
  type ExportRow,
  type In,
  invoiceStatus,
  listInvoices,
  majorUnits,
  nameOfCode,
  percentText,
  type User,
} from '@recur/contracts';
import {
  type Caller,
  type Condition,
  Db,
  each,
  given,
  Handle,
  type Reader,
  type SliceAt,
  type Sliced,
  sorted,
} from '@recur/platform';
import { buyerColumns, usersByEmail, usersOfRows } from '../../customers/users.js';
import { gatewaysById } from '../../gateways/gateway-index.js';
import { amountDue } from '../domain/invoice.js';
import { invoiceSettingsOf } from '../settings.js';
import { type InvoiceRow, invoices } from '../tables.js';
import { dueDateOf } from '../views.js';
import { invoicesOf, matching, namesOfCodes } from './details.js';

type Input = In<typeof listInvoices>;

@Controller()
export class InvoiceList {
  constructor(private readonly db: Db) {}

  @Handle(listInvoices)
  async list(input: Input, caller: Caller) {
    const { page, count } = input;
    const byName = await usersNamed(this.db, caller, input);
    return this.db.read(caller, async reader => {
      const where = await shownWhere(reader, input, byName);
      const order = sorted({ createTime: 'create_time', totalAmount: 'total_amount' }, input);
      const { rows, total } = await reader.page({
        from: invoices,
        where,
        order,
        page,
        count,
        sparse: !!input.searchKey,
      });
      return { invoices: await invoicesOf(reader, rows), total };
    });
  }
}

type Names = Pick<Input, 'firstName' | 'lastName'>;

/** Ids of the users whose names the filters tell; undefined where they tell none. */
const usersNamed = (db: Db, caller: Caller, { firstName, lastName }: Names): Promise<number[] | undefined> =>
  db.search(caller, 'user_copies', [
    { column: 'first_name', field: 'firstName', part: firstName },
    { column: 'last_name', field: 'lastName', part: lastName },
  ]);

/** The conditions of the list; `byName` is from `usersNamed`. */
async function shownWhere(reader: Reader, input: Input, byName: number[] | undefined): Promise<Condition[]> {
  const byEmail = input.sendEmail ? await usersByEmail(reader, input.sendEmail) : undefined;
  const { showZeroInvoice } = await invoiceSettingsOf(reader);
  return [
    ...invoiceConditions(input),
    hiding(input, showZeroInvoice),
    each('user_id', byName),
    each('user_id', byEmail),
  ];
}

/** Invoices that were finished without a number are of total 0: found by that, or by their id. */
const hiding = ({ amountEnd, searchKey }: Input, showZeroInvoice: boolean): Condition => [
  `(status <> 'paid' or number <> ?)`,
  showZeroInvoice || given(amountEnd) !== undefined || given(searchKey) ? undefined : '',
];

function invoiceConditions(input: Input): Condition[] {
  const [from, to] = [given(input.reportTimeStart), given(input.reportTimeEnd)];
  const reported = from !== undefined || to !== undefined;
  return [
    ['kind = ?', 'invoice'],
    // only drafts can be deleted, so finished invoices need no such filter
    ['deleted_time = ?', input.deleteInclude || reported ? undefined : 0],
    ['user_id = ?', given(input.userId)],
    each('status', namesOfCodes(invoiceStatus, given(input.status))),
    each('gateway_id', given(input.gatewayIds)),
    ['currency = ?', given(input.currency)],
    // cast so that out-of-range values match no rows instead of failing
    ['biz_type = ?::bigint', given(input.type)],
    ['total_amount >= ?', given(input.amountStart)],
    ['total_amount <= ?', given(input.amountEnd)],
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    ['finish_time > ?', reported ? 0 : undefined],
    ['finish_time >= ?', from],
    // finish_time >= create_time always holds: the extra bound lets the planner skip newer rows
    ['finish_time <= ? and create_time <= ?', to],
    matching(given(input.searchKey)),
  ];
}

/** Properties that the columns are made of: lines and snapshots of subscriptions are large, and not read. */
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
    const shown = rows.map(row =>
      invoiceRow(row, users.get(row.userId), gateways.get(row.gatewayId)?.gatewayName ?? ''),
    );
    return { rows: shown, next };
  });
}

function invoiceRow(row: Row, user: User | undefined, gatewayName: string): ExportRow<'InvoiceExport'> {
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
    AmountDue: amount(amountDue(row)),
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
