import { Controller } from '@nestjs/common';
import {
  type In,
  listPaymentItems,
  listPaymentTimeline,
  type PaymentItem,
  type PaymentTimelineDetail,
  timelineStatus,
  timelineType,
} from '@recur/contracts';
import { type Caller, type Condition, Db, given, Handle, type Reader, type Row } from '@recur/platform';
import type { Payment } from '../invoices/domain/payment.js';
import type { Refund } from '../invoices/domain/refund.js';
import { payments, refunds } from '../invoices/payment-tables.js';
import { paymentView, refundView } from '../invoices/views.js';
import { percentageOf } from '../pricing/tax.js';

const limits = { counted: 10_000 } as const;

type Input = In<typeof listPaymentTimeline>;

/** Codes of the timeline for the states of payments and refunds. */
const paymentCodes = { created: 'pending', success: 'success', failed: 'failed', cancelled: 'failed' } as const;
const refundCodes = { ...paymentCodes, reversed: 'reversed' } as const;

/** Payments and refunds in one list, and the items of one-time payments. */
@Controller()
export class PaymentTimeline {
  constructor(private readonly db: Db) {}

  @Handle(listPaymentTimeline)
  list(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { sql, values } = paymentStatement(input, reader.merchantId);
      const rows = await reader.query(sql, values);
      const page = rows.filter(row => row.id !== null);
      return { paymentTimeLines: await paymentDetails(reader, page), total: Number(rows[0]?.total ?? 0) };
    });
  }

  @Handle(listPaymentItems)
  items({ userId, sortType, page, count }: In<typeof listPaymentItems>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const direction = sortType === 'asc' ? 'asc' : 'desc';
      const rows = await reader.query(itemsText(direction), [
        reader.merchantId,
        given(userId) ?? null,
        limits.counted,
        count,
        page * count,
      ]);
      const items = rows.filter(row => row.line_id !== null);
      return { paymentItems: items.map(itemOf), total: Number(rows[0]?.total ?? 0) };
    });
  }
}

/**
 * A page of both tables, newest first, and how many match. Each side gives at most as many rows as are counted; a row
 * without an id stands for an empty page.
 */
function paymentStatement(input: Input, merchantId: number): { sql: string; values: unknown[] } {
  const values: unknown[] = [merchantId];
  const place = (value: unknown) => `$${values.push(value)}`;
  const conditions = (side: keyof typeof sides): string =>
    [
      'merchant_id = $1',
      ...sideWhere(input, side).flatMap(([sql, value]) =>
        value === undefined ? [] : [sql.replaceAll('?', place(value))],
      ),
    ].join(' and ');
  const direction = input.sortType === 'asc' ? 'asc' : 'desc';
  const order = input.sortField === 'totalAmount' ? 'amount' : 'create_time';
  const { counted } = limits;
  const selects = sidesOf(input).map(side => {
    const { table, key, amount } = sides[side];
    return `(select ${timelineType[side]} as type, ${key} as key, id, create_time, ${amount} as amount from ${table}
        where ${conditions(side)} order by ${order} ${direction}, id ${direction} limit ${counted})`;
  });
  const found =
    selects.length > 0
      ? selects.join(' union all ')
      : `(select 0 as type, '' as key, 0::bigint as id,
    0::bigint as create_time, 0::bigint as amount where $1::bigint is null)`;
  const { page, count } = input;
  const sql = `with found as materialized (${found}),
    page as (select * from found order by ${order} ${direction}, id ${direction} limit ${place(count)} offset ${place(page * count)})
    select page.*, totals.total from (select least(count(*), ${counted}) as total from found) totals
      left join page on true order by page.${order} ${direction}, page.id ${direction}`;
  return { sql, values };
}

/** The tables of which rows are wanted. */
export function sidesOf(input: Input): (keyof typeof sides)[] {
  const wanted = given(input.timelineTypes) ?? Object.values(timelineType);
  return (['payment', 'refund'] as const).filter(side => wanted.includes(timelineType[side]));
}

/** The conditions of the list on one of its tables. */
export function sideWhere(input: Input, side: keyof typeof sides): Condition[] {
  const { amount, names, ids } = sides[side];
  return [
    ['user_id = ?', given(input.userId)],
    ['gateway_id = any(?)', given(input.gatewayIds)],
    ['currency = ?', given(input.currency)],
    [`${amount} >= ?`, given(input.amountStart)],
    [`${amount} <= ?`, given(input.amountEnd)],
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    ['status = any(?)', given(input.status)?.flatMap(code => names(code))],
    [`(${ids.map(column => `${column} = ?`).join(' or ')})`, given(input.searchKey)],
  ];
}

const statesWith = (codes: Record<string, keyof typeof timelineStatus>) => (code: number) =>
  Object.entries(codes).flatMap(([state, name]) => (timelineStatus[name] === code ? [state] : []));

const sides = {
  payment: {
    table: 'payments',
    key: 'payment_id',
    amount: 'total_amount',
    names: statesWith(paymentCodes),
    ids: ['payment_id', 'invoice_id'],
  },
  refund: {
    table: 'refunds',
    key: 'refund_id',
    amount: 'amount',
    names: statesWith(refundCodes),
    ids: ['refund_id', 'payment_id', 'invoice_id'],
  },
} as const;

/** Rows of the list, as it shows them. */
async function paymentDetails(reader: Reader, rows: readonly Row[]): Promise<PaymentTimelineDetail[]> {
  const keys = (type: number) => rows.filter(row => Number(row.type) === type).map(row => String(row.key));
  const made = await reader.among(refunds, 'refundId', keys(timelineType.refund));
  const refunded = made.map(({ paymentId }) => paymentId).filter(id => id !== '');
  const paid = await reader.among(payments, 'paymentId', [...new Set([...keys(timelineType.payment), ...refunded])]);
  const paymentsById = new Map(paid.map(payment => [payment.paymentId, payment]));
  const refundsById = new Map(made.map(refund => [refund.refundId, refund]));
  return rows.flatMap(({ type, key }) => {
    if (Number(type) === timelineType.payment) {
      const payment = paymentsById.get(String(key));
      return payment ? [ofPayment(payment)] : [];
    }
    const refund = refundsById.get(String(key));
    return refund ? [ofRefund(refund, paymentsById.get(refund.paymentId))] : [];
  });
}

const shared = ({
  id,
  merchantId,
  invoiceId,
  subscriptionId,
  paymentId,
  userId,
  gatewayId,
  currency,
  createTime,
}: Payment | Refund) => ({
  id,
  merchantId,
  invoiceId,
  subscriptionId,
  paymentId,
  userId,
  gatewayId,
  currency,
  createTime,
});

export function ofPayment(payment: Payment): PaymentTimelineDetail {
  const { paymentId, status, automatic, gatewayPaymentId, reason, totalAmount, paymentAmount, refundedAmount } =
    payment;
  return {
    ...shared(payment),
    timelineType: timelineType.payment,
    transactionId: paymentId,
    externalTransactionId: gatewayPaymentId,
    status: timelineStatus[paymentCodes[status]],
    totalAmount: Number(totalAmount),
    fullRefund: Number(paymentAmount > 0n && refundedAmount === paymentAmount),
    failureReason: status === 'failed' ? reason : '',
    autoCharge: automatic,
    payment: paymentView(payment),
    refundId: '',
    refund: null,
  };
}

export function ofRefund(refund: Refund, payment: Payment | undefined): PaymentTimelineDetail {
  const { refundId, status, gatewayRefundId, explanation, amount, toPayments } = refund;
  return {
    ...shared(refund),
    timelineType: timelineType.refund,
    transactionId: refundId,
    externalTransactionId: gatewayRefundId,
    status: timelineStatus[refundCodes[status]],
    totalAmount: Number(amount),
    fullRefund: Number(payment !== undefined && toPayments === payment.paymentAmount),
    failureReason: status === 'failed' ? explanation : '',
    autoCharge: false,
    refundId,
    payment: payment ? paymentView(payment) : null,
    refund: refundView(refund),
  };
}

/** Lines of the invoices of one-time payments; a row without a line stands for an empty page. */
const itemsText = (direction: 'asc' | 'desc') => `with found as materialized (
    select invoice_id, create_time, id, currency, tax_bps from invoices
      where merchant_id = $1 and kind = 'invoice' and biz_type = 1 and ($2::bigint is null or user_id = $2)
      order by create_time ${direction}, id ${direction} limit $3),
  items as materialized (select f.create_time, f.id, f.currency, l.* from found f
    join invoice_lines l on l.merchant_id = $1 and l.invoice_id = f.invoice_id
    order by f.create_time ${direction}, f.id ${direction}, l.line_no limit $3),
  page as (select * from items order by create_time ${direction}, id ${direction}, line_no limit $4 offset $5)
  select page.*, totals.total from (select count(*) as total from items) totals
    left join page on true order by page.create_time ${direction}, page.id ${direction}, page.line_no`;

const itemOf = (row: Row): PaymentItem => ({
  amount: Number(row.amount),
  amountExcludingTax: Number(row.amount_excluding_tax),
  currency: String(row.currency),
  description: String(row.description),
  name: String(row.name),
  quantity: Number(row.quantity),
  tax: Number(row.tax),
  taxPercentage: percentageOf(Number(row.rate_ppm)),
  unitAmountExcludingTax: Number(row.unit_amount_excluding_tax),
});
