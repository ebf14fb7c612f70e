import type { User as UserShape, userStatus } from '@recur/contracts';
import { document, int, integer, optionalText, table, text } from '@recur/platform';

/** Details of a user that no query filters by, under the names of the API; blank ones are left out. */
export type Profile = Partial<
  Pick<
    UserShape,
    | 'city'
    | 'companyName'
    | 'countryCode'
    | 'countryName'
    | 'facebook'
    | 'gatewayPaymentType'
    | 'linkedIn'
    | 'metadata'
    | 'otherSocialInfo'
    | 'paymentMethod'
    | 'registrationNumber'
    | 'state'
    | 'telegram'
    | 'tikTok'
    | 'vATNumber'
    | 'weChat'
    | 'whatsAPP'
    | 'zipCode'
  >
>;

/** A merchant's customer. */
export interface User {
  merchantId: number;
  id: number;
  email: string;
  emailKey: string;
  /** '' for none. */
  externalUserId: string;
  firstName: string;
  lastName: string;
  phone: string;
  address: string;
  language: string;
  /** argon2id, in PHC form; null for no password. */
  passwordHash: string | null;
  status: keyof typeof userStatus;
  type: number;
  billingType: number;
  /** The user's default gateway; 0 for the merchant's default. */
  gatewayId: number;
  profile: Profile;
  /** The shown subscription, kept by a trigger (see Customers1763683200006); '' and 0 below for none. */
  subscriptionId: string;
  subscriptionStatus: number;
  recurringAmount: number;
  planId: number;
  createTime: number;
  version: number;
}

/** Number of users created in one day or one minute, one row per shard. Maintained by a trigger. */
export interface UserTally {
  merchantId: number;
  /** Seconds: 86400 or 60. */
  span: number;
  startTime: number;
  shard: number;
  n: number;
}

/** A member's note on a user. */
export interface AdminNote {
  merchantId: number;
  id: number;
  userId: number;
  memberId: number;
  note: string;
  createTime: number;
}

export const users = table<User>('users', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    email: text(),
    emailKey: text(),
    externalUserId: text(),
    firstName: text(),
    lastName: text(),
    phone: text(),
    address: text(),
    language: text(),
    passwordHash: optionalText(),
    status: text(),
    type: int(),
    billingType: int(),
    gatewayId: integer(),
    profile: { ...document<Profile>(), default: {} },
    subscriptionId: { ...text(), default: '' },
    subscriptionStatus: { ...int(), default: 0 },
    recurringAmount: { ...integer(), default: 0 },
    planId: { ...integer(), default: 0 },
    createTime: integer(),
    version: int(),
  },
  checks: { users_status: `status in ('active', 'suspended')` },
  indices: {
    users_email: { on: ['merchantId', 'emailKey'], unique: true },
    users_external: { on: ['merchantId', 'externalUserId'], unique: true, where: `external_user_id <> ''` },
    users_newest: { on: ['merchantId', 'createTime', 'id'] },
    users_suspended: { on: ['merchantId', 'createTime', 'id'], where: `status = 'suspended'` },
    users_gateway: { on: ['merchantId', 'gatewayId', 'createTime', 'id'], where: 'gateway_id <> 0' },
    users_plan: { on: ['merchantId', 'planId', 'createTime', 'id'], where: 'plan_id <> 0' },
    users_subscription: { on: ['merchantId', 'subscriptionStatus', 'createTime', 'id'] },
  },
});

export const userTallies = table<UserTally>('user_tallies', {
  key: ['merchantId', 'span', 'startTime', 'shard'],
  columns: { merchantId: integer(), span: int(), startTime: integer(), shard: int(), n: integer() },
});

export const adminNotes = table<AdminNote>('admin_notes', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    userId: integer(),
    memberId: integer(),
    note: text(),
    createTime: integer(),
  },
  indices: { admin_notes_user: { on: ['merchantId', 'userId', 'createTime', 'id'] } },
});
