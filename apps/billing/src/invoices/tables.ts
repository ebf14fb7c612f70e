import type { Discount, InvoiceLineMetricCharge, InvoiceMerchant, Plan, User } from '@recur/contracts';
import { document, flag, int, integer, money, oneOf, optionalDocument, table, text } from '@recur/platform';
import { type Invoice, type InvoiceLine, invoiceLifecycle } from './domain/invoice.js';
import type { BillingReason, InvoicedPeriod } from './domain/items.js';

export interface InvoiceRow extends Omit<Invoice, 'lines'>, InvoicedPeriod {
  /** The parties as they were when the document was finished. */
  seller: InvoiceMerchant | null;
  buyer: User | null;
  /** The discount that reduced it. */
  discount: Discount | null;
}

export interface LineRow extends Omit<InvoiceLine, 'lineId'> {
  merchantId: number;
  invoiceId: string;
  /** From 1. */
  lineNo: number;
  lineId: string;
  /** The plan as it was when the line was made. */
  plan: Plan | null;
}

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
    documentKey: { ...text(), default: '' },
    daysUntilDue: int(),
    createTime: integer(),
    modifyTime: integer(),
    finishTime: integer(),
    paidTime: integer(),
    deletedTime: integer(),
    kind: { ...text<InvoiceRow['kind']>(), default: 'invoice' },
    noteReason: { ...text<InvoiceRow['noteReason']>(), default: '' },
    counter: { ...integer(), default: 0 },
    originalInvoiceId: { ...text(), default: '' },
    refundId: { ...text(), default: '' },
    taxes: { ...document<InvoiceRow['taxes']>(), default: [] },
    promoApplied: { ...flag(), default: false },
    promoCap: { ...money(), default: 0 },
    promoCredits: { ...money(), default: 0 },
    promoRate: { ...money(), default: 0 },
    promoRefunded: { ...money(), default: 0 },
    promoCredited: { ...money(), default: 0 },
    partialCreditPaid: { ...money(), default: 0 },
    refundedAmount: { ...money(), default: 0 },
    refundedToPayments: { ...money(), default: 0 },
    surplus: { ...money(), default: 0 },
    deadline: { ...integer(), default: 0 },
    sendStatus: { ...int(), default: 0 },
    seller: optionalDocument<InvoiceMerchant>(),
    buyer: optionalDocument<User>(),
    discount: optionalDocument<Discount>(),
    subscriptionId: { ...text(), default: '' },
    billReason: { ...text<BillingReason | ''>(), default: '' },
    periodKind: { ...text(), default: '' },
    periodSeq: { ...int(), default: 0 },
    periodStart: { ...integer(), default: 0 },
    periodEnd: { ...integer(), default: 0 },
    billed: optionalDocument<InvoicedPeriod['billed']>(),
  },
  checks: {
    invoices_status: oneOf('status', invoiceLifecycle.states),
    invoices_total: `case kind when 'invoice' then total_amount >= 0 else total_amount <= 0 end`,
    invoices_kind: `kind in ('invoice', 'credit_note')`,
    invoices_credit: 'partial_credit_paid >= 0 and (partial_credit_paid = 0 or partial_credit_paid <= total_amount)',
    invoices_refunded: 'refunded_amount between 0 and greatest(total_amount, 0) and refunded_to_payments >= 0',
  },
  // for the list: each filter, then its order; deletedTime is included so that skipped rows are read from the index alone
  indices: {
    invoices_newest: {
      on: ['merchantId', 'createTime', 'id', 'deletedTime', 'userId', 'totalAmount'],
      where: `kind = 'invoice'`,
    },
    invoices_user: { on: ['merchantId', 'userId', 'createTime', 'id', 'deletedTime'], where: `kind = 'invoice'` },
    invoices_in_status: { on: ['merchantId', 'status', 'createTime', 'id', 'deletedTime'], where: `kind = 'invoice'` },
    invoices_type: { on: ['merchantId', 'bizType', 'createTime', 'id', 'deletedTime'], where: `kind = 'invoice'` },
    invoices_currency: { on: ['merchantId', 'currency', 'createTime', 'id', 'deletedTime'], where: `kind = 'invoice'` },
    invoices_gateway: { on: ['merchantId', 'gatewayId', 'createTime', 'id', 'deletedTime'], where: `kind = 'invoice'` },
    invoices_amount: {
      on: ['merchantId', 'totalAmount', 'id', 'createTime', 'deletedTime'],
      where: `kind = 'invoice'`,
    },
    invoices_finished: {
      on: ['merchantId', 'finishTime', 'createTime', 'id'],
      where: `finish_time > 0 and kind = 'invoice'`,
    },
    invoices_name: {
      on: ['merchantId', 'invoiceName', 'createTime', 'id', 'deletedTime'],
      where: `invoice_name <> '' and kind = 'invoice'`,
    },
    invoices_counter: { on: ['merchantId', 'kind', 'counter'], unique: true, where: 'counter > 0' },
    invoices_number: { on: ['merchantId', 'number'], where: `number <> ''` },
    invoices_subscription: {
      on: ['merchantId', 'subscriptionId', 'createTime', 'id'],
      where: `subscription_id <> ''`,
    },
    // guards against billing a period twice, independently of the code
    invoices_period: {
      on: ['merchantId', 'subscriptionId', 'periodStart', 'periodKind'],
      unique: true,
      where: `period_kind <> '' and kind = 'invoice' and status in ('pending', 'processing', 'paid') and deleted_time = 0`,
    },
    credit_notes_newest: { on: ['merchantId', 'createTime', 'id'], where: `kind = 'credit_note'` },
    credit_notes_original: { on: ['merchantId', 'originalInvoiceId'], where: `original_invoice_id <> ''` },
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
    formula: { ...text(), default: '' },
    inputs: optionalDocument<Record<string, number | string>>(),
    sourceLineId: { ...text(), default: '' },
    itemKey: { ...text(), default: '' },
    startAt: { ...integer(), default: 0 },
    endAt: { ...integer(), default: 0 },
    printedStart: { ...integer(), default: 0 },
    printedEnd: { ...integer(), default: 0 },
    metricCharge: optionalDocument<InvoiceLineMetricCharge>(),
    ratePpm: { ...int(), default: 0 },
    category: { ...text<LineRow['category']>(), default: 'Z' },
    taxReason: { ...text(), default: '' },
    creditedNet: { ...money(), default: 0 },
    creditedTax: { ...money(), default: 0 },
    refundedNet: { ...money(), default: 0 },
    refundedTax: { ...money(), default: 0 },
    waivedNet: { ...money(), default: 0 },
    waivedTax: { ...money(), default: 0 },
  },
  checks: {
    // the checks keep anything from being credited twice: of a line's net, at most all of it
    invoice_lines_given_back: `credited_net + refunded_net + waived_net
      between least(amount - tax, 0) and greatest(amount - tax, 0)`,
  },
});
