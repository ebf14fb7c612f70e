import { z } from 'zod';
import { emailStatus } from '../codes.js';
import { code, Empty, integer, meanings, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const emailHistory = z.object({
  id: integer,
  email: text.describe('Recipient'),
  title: text.describe('Subject'),
  content: text.describe('Text of the e-mail'),
  attachFile: text.describe('Name of the attached PDF; empty for none'),
  status: code(emailStatus),
  response: text.describe("The mail server's last response, or the reason of the last failure"),
  createTime: time,
});
export interface EmailHistory extends z.output<typeof emailHistory> {}
/** An e-mail to a user. */
export const EmailHistory: Shape<EmailHistory> = emailHistory.meta({ id: 'EmailHistory' });

const emailHistoryStatistics = z.object({
  totalSend: integer.describe('All e-mails; each outcome is counted up to 100000'),
  totalSuccess: integer.describe('E-mails that the mail server accepted'),
  totalFail: integer.describe('E-mails that failed for good'),
});
export interface EmailHistoryStatistics extends z.output<typeof emailHistoryStatistics> {}
export const EmailHistoryStatistics: Shape<EmailHistoryStatistics> = emailHistoryStatistics.meta({
  id: 'EmailHistoryStatistics',
});

export const sendInvoiceEmail = operation({
  service: 'billing',
  name: 'invoice.send_email',
  methods: ['POST'],
  path: '/merchant/invoice/send_email',
  summary: 'E-mail a finished invoice or credit note, with its PDF, to its user; email/history_list shows the outcome',
  effect: 'write',
  permission: 'invoice.write',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: ['invoice_not_found', 'invoice_is_draft', 'user_not_found'],
});

export const listEmailHistory = operation({
  service: 'billing',
  name: 'email.history_list',
  methods: ['GET', 'POST'],
  path: '/merchant/email/history_list',
  summary: 'E-mails to users that match every filter, newest first; statistics count all of the merchant',
  effect: 'read',
  permission: 'activity-logs.read',
  input: input.paged(
    z.object({
      searchKey: input.line.optional().describe('Part of the subject or of the recipient, ignoring case'),
      email: input.line.optional().describe('Recipient, ignoring case'),
      status: input.q.ints().optional().describe(meanings(emailStatus)),
      ...input.createdWithin,
      ...input.paging,
    }),
  ),
  output: z.object({
    emailHistoryStatistics: EmailHistoryStatistics,
    emailHistories: z.array(EmailHistory),
    total: input.total,
  }),
  errors: [],
});
