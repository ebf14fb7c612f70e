import type { MerchantRolePermission, memberStatus, totpType } from '@recur/contracts';
import { document, flag, int, integer, integers, optionalText, table, text } from '@recur/platform';

export interface Member {
  merchantId: number;
  id: number;
  email: string;
  emailKey: string;
  firstName: string;
  lastName: string;
  mobile: string;
  /** argon2id, in PHC form; null for no password. */
  passwordHash: string | null;
  /** True for the owner, who may do everything regardless of roles. */
  isOwner: boolean;
  roleIds: number[];
  status: keyof typeof memberStatus;
  totpType: keyof typeof totpType;
  createTime: number;
  version: number;
}

/** The lookup from an e-mail to the merchants that have a member with it. */
export interface MemberEmail {
  /** SHA-256 of the normalised e-mail, base64url. */
  emailHash: string;
  merchantId: number;
  /** True until the member is set up; others come first where the number of merchants looked at is limited. */
  pending: boolean;
}

/** A named set of permissions. */
export interface Role {
  merchantId: number;
  id: number;
  name: string;
  /** The name in lower case, unique among live roles. */
  nameKey: string;
  permissions: MerchantRolePermission[];
  createTime: number;
  /** 0 while live. */
  deletedTime: number;
  version: number;
}

/** The latest setup token of an invited member. */
export interface SetupToken {
  merchantId: number;
  memberId: number;
  /** SHA-256, base64url. */
  tokenHash: string;
  /** Unix seconds on the merchant's clock. */
  expireTime: number;
  /** 0 for unused. */
  usedTime: number;
}

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

export const memberEmails = table<MemberEmail>('member_emails', {
  key: ['emailHash', 'merchantId'],
  columns: { emailHash: text(), merchantId: integer(), pending: { ...flag(), default: false } },
  infrastructure: true,
});

export const roles = table<Role>('roles', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    name: text(),
    nameKey: text(),
    permissions: document<MerchantRolePermission[]>(),
    createTime: integer(),
    deletedTime: integer(),
    version: int(),
  },
  indices: { roles_name: { on: ['merchantId', 'nameKey'], unique: true, where: 'deleted_time = 0' } },
});

export const setupTokens = table<SetupToken>('setup_tokens', {
  key: ['merchantId', 'memberId'],
  columns: {
    merchantId: integer(),
    memberId: integer(),
    tokenHash: text(),
    expireTime: integer(),
    usedTime: integer(),
  },
});
