import { z } from 'zod';
import { CreditAccount } from '../billing/credits/credits.js';
import { Gateway } from '../billing/gateways.js';
import { userType } from '../codes.js';
import { Empty, integer, type Shape } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { User, userFields } from './user-shape.js';

const userAccountDetail = z.object({
  ...userFields,
  creditAccounts: z.array(CreditAccount),
  promoCreditAccounts: z.array(CreditAccount),
  gateway: Gateway.nullable().describe('The gateway of gatewayId; null if that is 0'),
  planId: integer.describe("Plan of the user's subscription; 0 if there is none"),
});
/** A user with data of other services: gateway, credit accounts, plan. */
export interface UserAccountDetail extends z.output<typeof userAccountDetail> {}
export const UserAccountDetail: Shape<UserAccountDetail> = userAccountDetail.meta({ id: 'UserAccountDetail' });

/** Fields of a user that a new one may have and an update may change. */
const profile = {
  externalUserId: input.externalId.optional(),
  type: input.code(userType).optional(),
  gatewayId: z.int().optional().describe("0: the merchant's default gateway"),
  gatewayPaymentType: input.line.optional(),
  paymentMethodId: input.line.optional().describe('Returned as paymentMethod'),
  firstName: input.line.optional(),
  lastName: input.line.optional(),
  phone: input.line.optional(),
  address: input.line.optional(),
  language: input.line.optional(),
  city: input.line.optional(),
  companyName: input.line.optional(),
  countryCode: input.line.optional(),
  countryName: input.line.optional().describe("Unless it is sent, the name of countryCode in the user's language"),
  registrationNumber: input.line.optional(),
  state: input.line.optional(),
  vATNumber: input.line.optional(),
  zipCode: input.line.optional(),
  LinkedIn: input.line.optional(),
  facebook: input.line.optional(),
  otherSocialInfo: input.line.optional(),
  telegram: input.line.optional(),
  tiktok: input.line.optional(),
  weChat: input.line.optional(),
  whatsApp: input.line.optional(),
  metadata: input.metadata.optional(),
};

export const newUser = operation({
  service: 'identity',
  name: 'user.new',
  methods: ['POST'],
  path: '/merchant/user/new',
  summary: 'Create a user; e-mail and externalUserId are unique within the merchant',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    email: input.email,
    password: input.line.optional(),
    ...profile,
  }),
  output: z.object({ user: User }),
  errors: ['gateway_not_found', 'gateway_archived'],
  secretInput: true,
});

export const getUser = operation({
  service: 'identity',
  name: 'user.get',
  methods: ['GET'],
  path: '/merchant/user/get',
  summary: 'A user with their gateway, credit accounts and plan',
  effect: 'read',
  permission: 'user.read',
  input: z.object({ userId: input.q.int() }),
  output: z.object({ user: UserAccountDetail }),
  errors: ['user_not_found'],
});

const searchKey = input.line.optional().describe('The id, or part of the e-mail, name, externalUserId or companyName');

export const listUsers = operation({
  service: 'identity',
  name: 'user.list',
  methods: ['GET', 'POST'],
  path: '/merchant/user/list',
  summary: 'Users that match every filter, newest first; texts match by case-insensitive substring',
  effect: 'read',
  permission: 'user.read',
  input: input.paged(
    z.object({
      userId: input.q.int().optional(),
      externalUserId: input.externalId.optional().describe('Exact match'),
      email: input.line.optional(),
      firstName: input.line.optional(),
      lastName: input.line.optional(),
      searchKey,
      status: input.q.ints().optional(),
      gatewayIds: input.q.ints().optional(),
      planIds: input.q.ints().optional().describe("Plans of the users' subscriptions"),
      subscriptionId: input.line.optional(),
      subStatus: input.q.ints().optional().describe('Subscription status; 0 matches users without a subscription'),
      deleteInclude: input.q.bool().optional().describe('No effect: users are never deleted'),
      ...input.createdWithin,
      ...input.sorting('createTime'),
      ...input.paging,
    }),
  ),
  output: z.object({
    userAccounts: z.array(UserAccountDetail),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: [],
});

export const searchUsers = operation({
  service: 'identity',
  name: 'user.search',
  methods: ['GET', 'POST'],
  path: '/merchant/user/search',
  summary: 'The newest 100 users that match searchKey, or the newest 100 without one',
  effect: 'read',
  permission: 'user.read',
  input: z.object({ searchKey }),
  output: z.object({ userAccounts: z.array(UserAccountDetail) }),
  errors: [],
});

export const updateUser = operation({
  service: 'identity',
  name: 'user.update',
  methods: ['POST'],
  path: '/merchant/user/update',
  summary: 'Update the fields sent; a blank text clears its field, metadata is replaced as a whole',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    userId: input.rule(z.int(), 'may not be 0', id => id !== 0),
    email: input.email.optional(),
    ...profile,
  }),
  output: z.object({ user: UserAccountDetail }),
  errors: ['user_not_found', 'gateway_not_found', 'gateway_archived'],
});

export const suspendUser = operation({
  service: 'identity',
  name: 'user.suspend',
  methods: ['POST'],
  path: '/merchant/user/suspend_user',
  summary: 'Suspend a user: no new sessions and no new charges; no effect if already suspended',
  effect: 'write',
  permission: 'user.write',
  input: z.object({ userId: z.int() }),
  output: Empty,
  errors: ['user_not_found'],
});

export const resumeUser = operation({
  service: 'identity',
  name: 'user.resume',
  methods: ['POST'],
  path: '/merchant/user/resume_user',
  summary: 'Reactivate a suspended user; no effect if already active',
  effect: 'write',
  permission: 'user.write',
  input: z.object({ userId: z.int() }),
  output: Empty,
  errors: ['user_not_found'],
});

export const changeUserGateway = operation({
  service: 'identity',
  name: 'user.change_gateway',
  methods: ['POST'],
  path: '/merchant/user/change_gateway',
  summary: "Change a user's payment gateway; with a different gateway, payment fields not sent are cleared",
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    userId: z.int(),
    gatewayId: z.int().describe("0: the merchant's default gateway"),
    gatewayPaymentType: input.line.optional(),
    paymentMethodId: input.line.optional().describe('Returned as paymentMethod'),
  }),
  output: Empty,
  errors: ['user_not_found', 'gateway_not_found', 'gateway_archived'],
});

export const changeUserEmail = operation({
  service: 'identity',
  name: 'user.change_email',
  methods: ['POST'],
  path: '/merchant/user/change_email',
  summary: 'Change the e-mail of a user; it is unique within the merchant, ignoring case',
  effect: 'write',
  permission: 'user.write',
  input: z.object({ userId: z.int(), email: input.email }),
  output: Empty,
  errors: ['user_not_found'],
});

export const userCount = operation({
  service: 'identity',
  name: 'user.count',
  methods: ['GET'],
  path: '/merchant/user/count',
  summary: 'Number of users created within a time range, both ends included',
  effect: 'read',
  permission: 'user.read',
  input: z.object(input.createdWithin),
  output: z.object({ total: integer.describe('An exact count') }),
  errors: [],
});
