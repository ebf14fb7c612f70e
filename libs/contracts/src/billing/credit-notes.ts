import { z } from 'zod';
import { invoiceStatus } from '../codes.js';
import { amount, anyObject, integer, meanings, type Shape, text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { Invoice } from './invoices/shape.js';

const lineExplanation = z.object({
  lineId: text,
  text,
  formula: text,
  inputs: anyObject,
  sourceLineId: text.describe('The line of an earlier invoice that this line gives back'),
  taxReason: text,
  amount,
});
export interface LineExplanation extends z.output<typeof lineExplanation> {}
export const LineExplanation: Shape<LineExplanation> = lineExplanation.meta({ id: 'LineExplanation' });

const totalExplanation = z.object({ text, amount });
export interface TotalExplanation extends z.output<typeof totalExplanation> {}
export const TotalExplanation: Shape<TotalExplanation> = totalExplanation.meta({ id: 'TotalExplanation' });

export const listCreditNotes = operation({
  service: 'billing',
  name: 'invoice.credit_note_list',
  methods: ['GET', 'POST'],
  path: '/merchant/invoice/credit_note/list',
  summary: 'Credit notes that match every filter, newest first, each with the invoice it refers to',
  effect: 'read',
  permission: 'invoice.read',
  input: input.paged(
    z.object({
      searchKey: input.line.optional().describe('An invoiceId, or the number of a credit note or its digits'),
      emails: input.line.optional().describe('E-mail addresses of users, separated by commas, ignoring case'),
      status: input.q.ints().optional().describe(meanings(invoiceStatus)),
      currency: input.line.toUpperCase().optional(),
      gatewayIds: input.q.ints().optional(),
      planIds: input.q.ints().optional().describe('Plans that a line of the refunded invoice sells'),
      ...input.createdWithin,
      ...input.sorting('createTime', 'totalAmount'),
      ...input.paging,
    }),
  ),
  output: z.object({
    creditNotes: z.array(Invoice),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: [],
});

export const explainInvoice = operation({
  service: 'billing',
  name: 'invoice.explain',
  methods: ['GET'],
  path: '/merchant/invoice/explain',
  summary: 'How each amount of an invoice or credit note was computed, in words and numbers',
  effect: 'read',
  permission: 'invoice.read',
  input: z.object({ invoiceId: input.filled }),
  output: z.object({
    lines: z.array(LineExplanation).describe('Their amounts add up to the total'),
    totals: z.array(TotalExplanation).describe('All but the last add up to the last, the total'),
  }),
  errors: ['invoice_not_found'],
});
