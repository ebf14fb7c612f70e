import type { In, memberStatus, totpType, updateMerchant, userStatus } from '@recur/contracts';
import { document, flag, int, integer, integers, optionalText, table, text } from '@recur/platform';
import type { JWK } from 'jose';
import { logHeads, logTallies, operationLogs } from './operation-log/tables.js';
import { liveSessions, memberSessions, roles, setupTokens } from './members/tables.js';
import { authProviders, memberTotps, oauthAccounts } from './sign-in/tables.js';
import {
  adminNotes,
  clientSessions,
  currencyRules,
  gateways,
  type Profile,
  plans,
  products,
  subscriptions,
  userTallies,
} from './users/tables.js';

export interface Merchant {
  merchantId: number;
  name: string;
  profile: MerchantProfile;
  createTime: number;
  version: number;
}

/** What a merchant tells of itself, under the names of the answer; what is blank is left out. */
export type MerchantProfile = In<typeof updateMerchant>;

export interface Member {
  merchantId: number;
  id: number;
  email: string;
  emailKey: string;
  firstName: string;
  lastName: string;
  mobile: string;
  /** argon2id, in PHC form; none: the member has no password. */
  passwordHash: string | null;
  /** The owner may do everything, whatever roles it has. */
  isOwner: boolean;
  roleIds: number[];
  status: keyof typeof memberStatus;
  totpType: keyof typeof totpType;
  createTime: number;
  version: number;
}

/** An API key as it is remembered: the key itself was shown once and is kept nowhere. */
export interface ApiKey {
  merchantId: number;
  id: number;
  /** SHA-256 of the jti, base64url. */
  jtiHash: string;
  /** How the key is shown in lists and in the operation log. */
  hint: string;
  createTime: number;
  /** 0: it is not revoked. */
  revokedTime: number;
  version: number;
}

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
  /** argon2id, in PHC form; none: the user has no password. */
  passwordHash: string | null;
  status: keyof typeof userStatus;
  type: number;
  billingType: number;
  /** The gateway that is usual for this user; 0: the merchant's default. */
  gatewayId: number;
  profile: Profile;
  /** Of the subscription that the user shows; see Customers1763683200006. '' and 0: it has none. */
  subscriptionId: string;
  subscriptionStatus: number;
  recurringAmount: number;
  planId: number;
  createTime: number;
  version: number;
}

/** A key pair that signs tokens of all merchants. */
export interface SigningKey {
  /** The public key's thumbprint (RFC 7638). */
  kid: string;
  publicKey: JWK;
  /** Sealed JWK (platform's Keyring). */
  sealedPrivateKey: string;
  /** The one that signs; the others still verify. */
  isCurrent: boolean;
  createTime: number;
}

/** What gateways follow, as one row: its lock puts all changes in order, its version counts them. */
export interface CallersState {
  id: string;
  version: number;
}

/** Where an API key belongs, and whether it still holds: gateways ask for all of them, across merchants. */
export interface ApiKeyLookup {
  jtiHash: string;
  merchantId: number;
  revokedTime: number;
}

/** Where a member belongs. Its primary key is what makes e-mails unique in a deployment. */
export interface MemberEmail {
  /** SHA-256 of the normalised e-mail, base64url. */
  emailHash: string;
  merchantId: number;
}

export const merchants = table<Merchant>('merchants', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    name: text(),
    profile: { ...document<MerchantProfile>(), default: {} },
    createTime: integer(),
    version: int(),
  },
});

export const members = table<Member>('members', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    email: text(),
    emailKey: text(),
    firstName: text(),
    lastName: text(),
    mobile: { ...text(), default: '' },
    passwordHash: optionalText(),
    isOwner: flag(),
    roleIds: { ...integers(), default: [] },
    status: text(),
    totpType: { ...text<keyof typeof totpType>(), default: 'off' },
    createTime: integer(),
    version: int(),
  },
  checks: { members_status: `status in ('active', 'suspended')` },
  indices: {
    members_email: { on: ['merchantId', 'emailKey'], unique: true },
    members_newest: { on: ['merchantId', 'createTime', 'id'] },
  },
});

export const apiKeys = table<ApiKey>('api_keys', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    jtiHash: text(),
    hint: text(),
    createTime: integer(),
    revokedTime: integer(),
    version: int(),
  },
  indices: { api_keys_jti: { on: ['merchantId', 'jtiHash'], unique: true } },
});

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

export const signingKeys = table<SigningKey>('signing_keys', {
  key: ['kid'],
  columns: {
    kid: text(),
    publicKey: document<JWK>(),
    sealedPrivateKey: text(),
    isCurrent: flag(),
    createTime: integer(),
  },
  indices: { signing_keys_one_current: { on: ['isCurrent'], unique: true, where: 'is_current' } },
  infrastructure: true,
});

export const callers = table<CallersState>('callers', {
  key: ['id'],
  columns: { id: text(), version: int() },
  checks: { callers_one_row: `id = 'callers'` },
  infrastructure: true,
});

export const apiKeyLookups = table<ApiKeyLookup>('api_key_lookups', {
  key: ['jtiHash'],
  columns: { jtiHash: text(), merchantId: integer(), revokedTime: integer() },
  indices: { api_key_lookups_revoked: { on: ['revokedTime'], where: 'revoked_time > 0' } },
  infrastructure: true,
});

export const memberEmails = table<MemberEmail>('member_emails', {
  key: ['emailHash'],
  columns: { emailHash: text(), merchantId: integer() },
  infrastructure: true,
});

/** A merchant's own rows: row-level security shows them to that merchant only. */
export const tenantTables = [
  ...[merchants, members, roles, memberSessions, setupTokens, authProviders, oauthAccounts, memberTotps, apiKeys],
  ...[users, userTallies, adminNotes, operationLogs, logHeads, logTallies, gateways, subscriptions, plans, products],
  currencyRules,
];

/** The list of what has no row-level security here, beside the platform's own tables. */
export const infrastructureTables = [signingKeys, callers, apiKeyLookups, memberEmails, liveSessions, clientSessions];

/** Made and kept by `searchable`; they have no row-level security either, and `db.search` alone reads them. */
export const searchTables = ['users_search', 'members_search'];
