import type { Plan } from '@recur/contracts';
import { int, integer, money, optionalDocument, table, text } from '@recur/platform';
import type { Invoice, InvoiceLine } from './domain/invoice.js';
import { invoiceLifecycle } from './domain/invoice.js';
import type { Checkout, Payment } from './domain/payment.js';
import { paymentLifecycle } from './domain/payment.js';

export type InvoiceRow = Omit<Invoice, 'lines'>;

export interface LineRow extends Omit<InvoiceLine, 'lineId'> {
  merchantId: number;
  invoiceId: string;
  /** From 1. */
  lineNo: number;
  lineId: string;
  /** The plan as it was when the line was made. */
  plan: Plan | null;
}

/** Counter of a merchant's invoice numbers. Its row lock makes them gapless. */
export interface Numbering {
  merchantId: number;
  lastNumber: number;
}

const oneOf = (states: readonly string[]) => `status in (${states.map(state => `'${state}'`).join(', ')})`;

export const invoices = table<InvoiceRow>('invoices', {
  key: ['merchantId', 'invoiceId'],
  columns: {
    merchantId: integer(),
    invoiceId: text(),
    id: integer(),
    version: int(),
    status: text(),
    number: text(),
    userId: integer(),
    bizType: int(),
    createFrom: text(),
    invoiceName: { ...text(), collation: 'C' },
    currency: text(),
    taxBps: int(),
    promoAmount: money(),
    discountAmount: money(),
    taxAmount: money(),
    totalAmountExcludingTax: money(),
    totalAmount: money(),
    originAmount: money(),
    gatewayId: integer(),
    paymentId: text(),
    link: text(),
    pdfLink: { ...text(), default: '' },
    daysUntilDue: int(),
    createTime: integer(),
    modifyTime: integer(),
    finishTime: integer(),
    paidTime: integer(),
    deletedTime: integer(),
  },
  checks: {
    invoices_status: oneOf(invoiceLifecycle.states),
    invoices_total: 'total_amount >= 0',
  },
  // for the list: each filter, then its order; deletedTime is included so that skipped rows are read from the index alone
  indices: {
    invoices_newest: { on: ['merchantId', 'createTime', 'id', 'deletedTime', 'userId', 'totalAmount'] },
    invoices_user: { on: ['merchantId', 'userId', 'createTime', 'id', 'deletedTime'] },
    invoices_in_status: { on: ['merchantId', 'status', 'createTime', 'id', 'deletedTime'] },
    invoices_type: { on: ['merchantId', 'bizType', 'createTime', 'id', 'deletedTime'] },
    invoices_currency: { on: ['merchantId', 'currency', 'createTime', 'id', 'deletedTime'] },
    invoices_gateway: { on: ['merchantId', 'gatewayId', 'createTime', 'id', 'deletedTime'] },
    invoices_amount: { on: ['merchantId', 'totalAmount', 'id', 'createTime', 'deletedTime'] },
    invoices_finished: { on: ['merchantId', 'finishTime', 'createTime', 'id'], where: 'finish_time > 0' },
    invoices_name: {
      on: ['merchantId', 'invoiceName', 'createTime', 'id', 'deletedTime'],
      where: `invoice_name <> ''`,
    },
    invoices_number: { on: ['merchantId', 'number'], unique: true, where: `number <> ''` },
  },
});

export const invoiceLines = table<LineRow>('invoice_lines', {
  key: ['merchantId', 'invoiceId', 'lineNo'],
  columns: {
    merchantId: integer(),
    invoiceId: text(),
    lineNo: int(),
    lineId: text(),
    name: text(),
    description: text(),
    planId: integer(),
    plan: optionalDocument<Plan>(),
    unitAmountExcludingTax: money(),
    quantity: int(),
    amountExcludingTax: money(),
    promoAmount: money(),
    discountAmount: money(),
    tax: money(),
    amount: money(),
    originAmount: money(),
  },
});

export const payments = table<Payment>('payments', {
  key: ['merchantId', 'paymentId'],
  columns: {
    merchantId: integer(),
    paymentId: text(),
    version: int(),
    status: text(),
    invoiceId: text(),
    userId: integer(),
    gatewayId: integer(),
    currency: text(),
    totalAmount: money(),
    paymentAmount: money(),
    gatewayPaymentId: text(),
    externalPaymentId: { ...text(), default: '' },
    countryCode: { ...text(), default: '' },
    checkout: optionalDocument<Checkout>(),
    reason: text(),
    link: text(),
    createTime: integer(),
    modifyTime: integer(),
    paidTime: integer(),
    cancelTime: integer(),
  },
  checks: { payments_status: oneOf(paymentLifecycle.states) },
  indices: {
    // guards against paying an invoice twice, independently of the code
    payments_one_live: { on: ['merchantId', 'invoiceId'], unique: true, where: `status in ('created', 'success')` },
    payments_external: {
      on: ['merchantId', 'externalPaymentId'],
      unique: true,
      where: `external_payment_id <> ''`,
    },
    payments_newest: { on: ['merchantId', 'createTime', 'paymentId'] },
    payments_user: { on: ['merchantId', 'userId', 'createTime', 'paymentId'] },
    payments_in_status: { on: ['merchantId', 'status', 'createTime', 'paymentId'] },
    payments_currency: { on: ['merchantId', 'currency', 'createTime', 'paymentId'] },
    payments_gateway: { on: ['merchantId', 'gatewayId', 'createTime', 'paymentId'] },
    payments_country: {
      on: ['merchantId', 'countryCode', 'createTime', 'paymentId'],
      where: `country_code <> ''`,
    },
  },
});

export const numberings = table<Numbering>('numberings', {
  key: ['merchantId'],
  columns: { merchantId: integer(), lastNumber: integer() },
});
