import { z } from 'zod';
import { userType } from './codes.js';
import { Empty, integer } from './field.js';
import {
  anyObject,
  code,
  createdWithin,
  email,
  externalId,
  line,
  paged,
  paging,
  prose,
  q,
  rule,
  sorting,
} from './input.js';
import { operation } from './operation.js';
import { User } from './shapes/user.js';
import { UserAccountDetail } from './shapes/user-account.js';

export const newUser = operation({
  service: 'identity',
  name: 'user.new',
  methods: ['POST'],
  path: '/merchant/user/new',
  summary: 'Create a user; its e-mail and its externalUserId are unique within the merchant',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    email,
    address: line.default(''),
    externalUserId: externalId.default(''),
    firstName: line.default(''),
    language: line.default(''),
    lastName: line.default(''),
    password: line.optional(),
    phone: line.default(''),
  }),
  output: z.object({ user: User }),
  errors: [],
  secretInput: true,
});

export const getUser = operation({
  service: 'identity',
  name: 'user.get',
  methods: ['GET'],
  path: '/merchant/user/get',
  summary: 'A user with its gateway, credit accounts and plan',
  effect: 'read',
  permission: 'user.read',
  input: z.object({ userId: q.int() }),
  output: z.object({ user: UserAccountDetail }),
  errors: ['user_not_found'],
});

const searchKey = line.optional().describe('Part of the e-mail, the name, externalUserId or companyName; or the id');

export const listUsers = operation({
  service: 'identity',
  name: 'user.list',
  methods: ['GET', 'POST'],
  path: '/merchant/user/list',
  summary: 'The users that fit every filter given, newest first; texts match by substring of any case',
  effect: 'read',
  permission: 'user.read',
  input: paged(
    z.object({
      userId: q.int().optional(),
      externalUserId: externalId.optional().describe('Matches as a whole'),
      email: line.optional(),
      firstName: line.optional(),
      lastName: line.optional(),
      searchKey,
      status: q.ints().optional(),
      gatewayIds: q.ints().optional(),
      planIds: q.ints().optional().describe('Of the subscription of a user'),
      subscriptionId: line.optional(),
      subStatus: q.ints().optional().describe('Status of the subscription; 0 matches users without one'),
      deleteInclude: q.bool().optional().describe('Changes nothing: users are never deleted'),
      ...createdWithin,
      ...sorting('createTime'),
      ...paging,
    }),
  ),
  output: z.object({
    userAccounts: z.array(UserAccountDetail),
    total: integer.describe('How many fit, counted up to 10000: no page lies beyond'),
  }),
  errors: [],
});

export const searchUsers = operation({
  service: 'identity',
  name: 'user.search',
  methods: ['GET', 'POST'],
  path: '/merchant/user/search',
  summary: 'The newest 100 users that fit searchKey; without one, the newest 100',
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
  summary: 'Change the fields that are sent; a blank text clears its field, metadata is replaced as a whole',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    userId: rule(z.int(), 'may not be 0', id => id !== 0),
    email: email.optional(),
    externalUserId: externalId.optional(),
    type: code(userType).optional(),
    gatewayId: z.int().optional().describe('0: the gateway that is the default of the merchant'),
    gatewayPaymentType: line.optional(),
    paymentMethodId: line.optional().describe('Answered as paymentMethod'),
    firstName: line.optional(),
    lastName: line.optional(),
    phone: line.optional(),
    address: line.optional(),
    language: line.optional(),
    city: line.optional(),
    companyName: line.optional(),
    countryCode: line.optional(),
    countryName: line.optional(),
    registrationNumber: line.optional(),
    state: line.optional(),
    vATNumber: line.optional(),
    zipCode: line.optional(),
    LinkedIn: line.optional(),
    facebook: line.optional(),
    otherSocialInfo: line.optional(),
    telegram: line.optional(),
    tiktok: line.optional(),
    weChat: line.optional(),
    whatsApp: line.optional(),
    metadata: anyObject.optional(),
  }),
  output: z.object({ user: UserAccountDetail }),
  errors: ['user_not_found', 'gateway_not_found', 'gateway_archived'],
});

export const suspendUser = operation({
  service: 'identity',
  name: 'user.suspend',
  methods: ['POST'],
  path: '/merchant/user/suspend_user',
  summary: 'Suspend a user: no session is opened and nothing new is billed for it; if it is suspended nothing changes',
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
  summary: 'Make a suspended user active again; if it is active nothing changes',
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
  summary: 'Change the gateway by which a user pays; what is not sent of another gateway is cleared',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    userId: z.int(),
    gatewayId: z.int().describe('0: the gateway that is the default of the merchant'),
    gatewayPaymentType: line.optional(),
    paymentMethodId: line.optional().describe('Answered as paymentMethod'),
  }),
  output: Empty,
  errors: ['user_not_found', 'gateway_not_found', 'gateway_archived'],
});

export const changeUserEmail = operation({
  service: 'identity',
  name: 'user.change_email',
  methods: ['POST'],
  path: '/merchant/user/change_email',
  summary: 'Change the e-mail of a user, which is unique within the merchant whatever its case',
  effect: 'write',
  permission: 'user.write',
  input: z.object({ userId: z.int(), email }),
  output: Empty,
  errors: ['user_not_found'],
});

export const newAdminNote = operation({
  service: 'identity',
  name: 'user.new_admin_note',
  methods: ['POST'],
  path: '/merchant/user/new_admin_note',
  summary: 'Keep a note of the signed-in member on a user',
  effect: 'write',
  permission: 'user.write',
  memberOnly: true,
  input: z.object({ userId: z.int(), note: rule(prose, 'may not be blank', note => note.trim() !== '') }),
  output: Empty,
  errors: ['user_not_found'],
});

export const userCount = operation({
  service: 'identity',
  name: 'user.count',
  methods: ['GET'],
  path: '/merchant/user/count',
  summary: 'How many users were created within a time range, both ends included',
  effect: 'read',
  permission: 'user.read',
  input: z.object(createdWithin),
  output: z.object({ total: integer.describe('Exact, however many') }),
  errors: [],
});
