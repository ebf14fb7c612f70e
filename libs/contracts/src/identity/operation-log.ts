import { z } from 'zod';
import { optAccountType } from '../codes.js';
import { code, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MemberShort } from './members.js';

const operationLogEntry = z.object({
  createTime: time,
  id: integer,
  memberId: integer,
  merchantId: integer,
  optAccountType: code(optAccountType),
  planId: integer,
  userId: integer,
  discountCode: text,
  invoiceId: text,
  optAccount: text,
  optAccountId: text,
  optContent: text,
  optTarget: text,
  subscriptionId: text,
  member: MemberShort.nullable(),
});
export interface OperationLogEntry extends z.output<typeof operationLogEntry> {}
export const OperationLogEntry: Shape<OperationLogEntry> = operationLogEntry.meta({
  id: 'OperationLogEntry',
});

export const operationLogList = operation({
  service: 'identity',
  name: 'member.operation_log_list',
  methods: ['GET', 'POST'],
  path: '/merchant/member/operation_log_list',
  summary: 'The operation log, newest first; names and e-mails match by substring, ids exactly',
  effect: 'read',
  permission: 'activity-logs.read',
  input: input.paged(
    z.object({
      memberFirstName: input.line.optional(),
      memberLastName: input.line.optional(),
      memberEmail: input.line.optional(),
      firstName: input.line.optional(),
      lastName: input.line.optional(),
      email: input.line.optional(),
      subscriptionId: input.line.optional(),
      invoiceId: input.line.optional(),
      planId: input.q.int().optional(),
      discountCode: input.line.optional(),
      ...input.paging,
    }),
  ),
  output: z.object({
    merchantOperationLogs: z.array(OperationLogEntry),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: [],
});
