import { z } from 'zod';
import { integer, text } from './field.js';
import { email, externalId, line, optionalUrl, paged, paging, q, rule } from './input.js';
import { operation } from './operation.js';
import { OperationLogEntry } from './shapes/member.js';
import { UserAdminNote } from './shapes/user.js';

export const newSession = operation({
  service: 'identity',
  name: 'session.new_session',
  methods: ['POST'],
  path: '/merchant/session/new_session',
  summary: 'Find or create a user and open a client session of the hosted pages for it',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    email,
    address: line.optional(),
    firstName: line.optional(),
    lastName: line.optional(),
    password: line.optional().describe('Of a user that is created; that of one who exists stays as it is'),
    phone: line.optional(),
    externalUserId: externalId.optional().describe('The user is found by it, else by email'),
    returnUrl: optionalUrl.optional(),
    cancelUrl: optionalUrl.optional(),
  }),
  output: z.object({
    clientSession: text.describe('Opens the hosted pages for this user, for 10 hours'),
    clientToken: text.describe('A signed token of the user for the hosted pages, for 10 minutes'),
    email: text,
    externalUserId: text,
    url: text,
    userId: text.describe('The id of the user, as a text here and only here'),
  }),
  errors: ['user_inactive'],
  secretOutput: true,
});

/** How a caller names a user: by userId, else by externalUserId or e-mail. 0 and '' count as not given. */
const namesUser = <S extends z.ZodType<{ userId?: number; externalUserId?: string; email?: string }>>(schema: S) =>
  rule(schema, 'must name the user by userId, externalUserId or email', ({ userId, externalUserId, email }) =>
    Boolean(userId || externalUserId || email),
  );

export const subscriptionUpdateUrl = operation({
  service: 'identity',
  name: 'session.user_sub_update_url',
  methods: ['POST'],
  path: '/merchant/session/user_sub_update_url',
  summary: 'The URL of the hosted page on which a user changes its subscription',
  effect: 'write',
  permission: 'user.write',
  input: namesUser(
    z.object({
      userId: z.int().optional(),
      externalUserId: externalId.optional(),
      email: line.optional(),
      planId: z.int().optional().describe('To update to: an active main plan of the product'),
      productId: z.int().default(0).describe('Whose subscription is updated; 0: the default product'),
      vatCountryCode: line.optional(),
      returnUrl: optionalUrl.optional(),
      cancelUrl: optionalUrl.optional(),
    }),
  ),
  output: z.object({ url: text }),
  errors: ['user_not_found', 'user_inactive', 'subscription_not_found', 'plan_not_found', 'plan_not_active'],
  secretOutput: true,
});

export const customerPortalUrl = operation({
  service: 'identity',
  name: 'session.customer_portal_url',
  methods: ['GET'],
  path: '/merchant/session/customer_portal_url',
  summary: 'The URL of the client portal for a user; it opens a client session',
  effect: 'write',
  permission: 'user.write',
  input: namesUser(
    z.object({
      email: line.optional(),
      userId: q.int().optional(),
      externalUserId: externalId.optional(),
      productId: q.int().default(0).describe('What the portal is about; 0: the default product'),
      planId: q.int().optional().describe('To offer: an active main plan of the product'),
      vatCountryCode: line.optional(),
      returnUrl: optionalUrl.optional(),
      cancelUrl: optionalUrl.optional(),
    }),
  ),
  output: z.object({ url: text }),
  errors: ['user_not_found', 'user_inactive', 'product_not_found', 'plan_not_found', 'plan_not_active'],
  secretOutput: true,
});

export const operationLogList = operation({
  service: 'identity',
  name: 'member.operation_log_list',
  methods: ['GET'],
  path: '/merchant/member/operation_log_list',
  summary: 'Who did what, newest first; names and e-mails match by substring, ids exactly',
  effect: 'read',
  permission: 'activity-logs.read',
  input: paged(
    z.object({
      memberFirstName: line.optional(),
      memberLastName: line.optional(),
      memberEmail: line.optional(),
      firstName: line.optional(),
      lastName: line.optional(),
      email: line.optional(),
      subscriptionId: line.optional(),
      invoiceId: line.optional(),
      planId: q.int().optional(),
      discountCode: line.optional(),
      ...paging,
    }),
  ),
  output: z.object({
    merchantOperationLogs: z.array(OperationLogEntry),
    total: integer.describe('How many entries fit, counted up to 10000: no page lies beyond it'),
  }),
  errors: [],
});

export const adminNoteList = operation({
  service: 'identity',
  name: 'user.admin_note_list',
  methods: ['GET'],
  path: '/merchant/user/admin_note_list',
  summary: "The members' notes on a user, newest first",
  effect: 'read',
  permission: 'user.read',
  input: paged(z.object({ userId: q.int(), ...paging })),
  output: z.object({ noteLists: z.array(UserAdminNote) }),
  errors: ['user_not_found'],
});
