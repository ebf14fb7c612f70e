import { z } from 'zod';
import { bizType, invoiceStatus, paymentStatus } from '../../codes.js';
import { amount, code, Empty, integer, meanings, type Shape, text, time } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Invoice } from './shape.js';

/** An invoice line: priced and named by a plan, or with its own price. */
const newLine = input.rule(
  z
    .object({
      description: input.prose.default(''),
      name: input.line.default(''),
      planId: input.integer.default(0),
      quantity: z.int().min(1).max(1_000_000).default(1),
      unitAmountExcludingTax: input.unitAmount.optional(),
    })
    .meta({ 'x-shape': 'InvoiceLineInput' }),
  'is required if the line has no planId',
  ({ planId, unitAmountExcludingTax }) => planId !== 0 || unitAmountExcludingTax !== undefined,
  ['unitAmountExcludingTax'],
);

export const newInvoice = operation({
  service: 'billing',
  name: 'invoice.new',
  methods: ['POST'],
  path: '/merchant/invoice/new',
  summary: 'Create an invoice: a draft, or with finish=true an open one with number and payment',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({
    currency: input.Currency,
    taxPercentage: input.percent,
    userId: input.integer,
    applyPromoCredit: input.flag.default(false),
    applyPromoCreditAmount: z.int().min(0).optional(),
    finish: input.flag.default(false),
    gatewayId: input.integer.default(0),
    name: input.indexedName.default(''),
    lines: z.array(newLine).min(1).max(500),
  }),
  output: z.object({ invoice: Invoice }),
  errors: [
    'user_not_found',
    'user_inactive',
    'gateway_not_found',
    'gateway_archived',
    'plan_not_found',
    'plan_not_active',
    'amount_below_minimum',
  ],
});

export const editInvoice = operation({
  service: 'billing',
  name: 'invoice.edit',
  methods: ['POST'],
  path: '/merchant/invoice/edit',
  summary: 'Update the fields sent of a draft invoice; finish=true then opens it',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({
    invoiceId: input.filled,
    currency: input.Currency.optional().describe('If lines are not sent, their amounts stay as they are'),
    taxPercentage: input.percent.optional(),
    applyPromoCredit: input.flag.optional(),
    applyPromoCreditAmount: z.int().min(0).optional(),
    finish: input.flag.default(false),
    gatewayId: input.integer.default(0).describe('0: unchanged'),
    name: input.indexedName.optional(),
    lines: z.array(newLine).min(1).max(500).optional().describe('Replaces all lines'),
  }),
  output: z.object({ invoice: Invoice }),
  errors: [
    'invoice_not_found',
    'invoice_not_draft',
    'gateway_not_found',
    'gateway_archived',
    'plan_not_found',
    'plan_not_active',
    'amount_below_minimum',
  ],
});

export const invoiceDetail = operation({
  service: 'billing',
  name: 'invoice.detail',
  methods: ['GET', 'POST'],
  path: '/merchant/invoice/detail',
  summary: 'An invoice with its credit notes',
  effect: 'read',
  permission: 'invoice.read',
  input: z.object({ invoiceId: input.filled }),
  output: z.object({ creditNotes: z.array(Invoice), invoice: Invoice }),
  errors: ['invoice_not_found'],
});

const splitPayment = z.object({
  paymentId: text,
  splitSequence: integer.describe('From 1'),
  totalAmount: amount,
  currency: text,
  status: code(paymentStatus),
  gatewayId: integer,
  gatewayName: text,
  link: text,
  createTime: time,
  paidTime: time,
});
export interface SplitPayment extends z.output<typeof splitPayment> {}
const SplitPayment: Shape<SplitPayment> = splitPayment.meta({ id: 'SplitPayment' });

export const splitPayments = operation({
  service: 'billing',
  name: 'invoice.split_payments',
  methods: ['GET'],
  path: '/merchant/invoice/split_payments',
  summary: 'The payment of an invoice that succeeded, else its current one: an invoice is collected by one at a time',
  effect: 'read',
  permission: 'invoice.read',
  input: z.object({ invoiceId: input.filled }),
  output: z.object({
    payments: z.array(SplitPayment),
    totalAmount: amount.describe('What is collected by payments: the total of the invoice less main credit'),
    paidAmount: amount,
    remainingAmount: amount.describe('What is still due; 0 for an invoice that is not open'),
  }),
  errors: ['invoice_not_found'],
});

export const listInvoices = operation({
  service: 'billing',
  name: 'invoice.list',
  methods: ['GET', 'POST'],
  path: '/merchant/invoice/list',
  summary: 'Invoices that match every filter, newest first, each in the form of invoice/detail',
  effect: 'read',
  permission: 'invoice.read',
  input: input.paged(
    z.object({
      userId: input.q.int().optional(),
      firstName: input.line.optional().describe("Part of the user's first name, ignoring case"),
      lastName: input.line.optional().describe("Part of the user's last name, ignoring case"),
      sendEmail: input.line
        .optional()
        .describe('E-mail address of the user to whom the invoice would be sent, ignoring case'),
      status: input.q.ints().optional().describe(meanings(invoiceStatus)),
      currency: input.line.toUpperCase().optional(),
      amountStart: input.q.int().optional().describe('Lowest totalAmount'),
      amountEnd: input.q
        .int()
        .optional()
        .describe('Highest totalAmount; also finds invoices of 0 that the merchant does not show'),
      gatewayIds: input.q.ints().optional(),
      type: input.q
        .int()
        .optional()
        .describe(`bizType: ${meanings(bizType)}`),
      reportTimeStart: input.q.int().optional().describe('Earliest finishTime; excludes drafts, which have none'),
      reportTimeEnd: input.q.int().optional().describe('Latest finishTime; excludes drafts, which have none'),
      searchKey: input.line
        .optional()
        .describe('An invoiceId, a number or its digits, or the beginning of invoiceName, case-sensitive'),
      deleteInclude: input.q.bool().optional().describe('true: include deleted invoices'),
      ...input.createdWithin,
      ...input.sorting('createTime', 'totalAmount'),
      ...input.paging,
    }),
  ),
  output: z.object({
    invoices: z.array(Invoice),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: [],
});

export const finishInvoice = operation({
  service: 'billing',
  name: 'invoice.finish',
  methods: ['POST'],
  path: '/merchant/invoice/finish',
  summary: 'Finalize a draft: it gets number, link and payment; with a total of 0 it is paid at once',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled, daysUtilDue: z.int().min(0).max(3650) }),
  output: z.object({ invoice: Invoice }),
  errors: ['invoice_not_found', 'invoice_not_draft', 'amount_below_minimum'],
});

export const markWireTransferSuccess = operation({
  service: 'billing',
  name: 'invoice.mark_wire_transfer_success',
  methods: ['POST'],
  path: '/merchant/invoice/mark_wire_transfer_success',
  summary: "Record the arrival of an open invoice's wire transfer: the payment succeeds, the invoice is paid",
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({
    invoiceId: input.filled,
    transferNumber: input.filled,
    reason: input.prose.default(''),
    amountReceived: z.int().min(1).optional().describe('Minor units; what is more than due goes to main credit'),
    acceptShort: input.flag
      .default(false)
      .describe('Accept less than due: the difference becomes a credit note for bank charges'),
  }),
  output: Empty,
  errors: [
    'invoice_not_found',
    'invoice_not_open',
    'invoice_without_payment',
    'payment_not_open',
    'gateway_not_wire_transfer',
    'amount_below_minimum',
    'currency_mismatch',
  ],
});

export const cancelInvoice = operation({
  service: 'billing',
  name: 'invoice.cancel',
  methods: ['POST'],
  path: '/merchant/invoice/cancel',
  summary: 'Cancel an open invoice and its open payment',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_not_open', 'payment_not_open', 'payment_under_way'],
});

export const deleteInvoice = operation({
  service: 'billing',
  name: 'invoice.delete',
  methods: ['POST'],
  path: '/merchant/invoice/delete',
  summary: 'Delete a draft invoice; no effect if already deleted',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_not_draft'],
});

export const clearInvoicePayment = operation({
  service: 'billing',
  name: 'invoice.clear_payment',
  methods: ['POST'],
  path: '/merchant/invoice/clearPayment',
  summary: 'Cancel the current payment of an open invoice; the invoice stays payable',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_not_open', 'invoice_without_payment', 'payment_not_open', 'payment_under_way'],
});

export const revokeDocumentLinks = operation({
  service: 'billing',
  name: 'invoice.document_link_revoke',
  methods: ['POST'],
  path: '/merchant/invoice/document_link_revoke',
  summary: "End every link to a document's PDF that was given before; answers from now on have a new one",
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled.describe('A finished invoice, or a credit note') }),
  output: z.object({ invoice: Invoice }),
  errors: ['invoice_not_found', 'invoice_is_draft'],
});
