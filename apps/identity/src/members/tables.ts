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

/** Where a member belongs. Its primary key is what makes e-mails unique in a deployment. */
export interface MemberEmail {
  /** SHA-256 of the normalised e-mail, base64url. */
  emailHash: string;
  merchantId: number;
}

/** What members may be permitted together, under a name. */
export interface Role {
  merchantId: number;
  id: number;
  name: string;
  /** The name in lower case: by it names are unique among the roles that are not deleted. */
  nameKey: string;
  permissions: MerchantRolePermission[];
  createTime: number;
  /** 0 while it lives. */
  deletedTime: number;
  version: number;
}

/** What an invited member shows to set itself up: the newest is the one that holds. */
export interface SetupToken {
  merchantId: number;
  memberId: number;
  /** SHA-256, base64url. */
  tokenHash: string;
  /** Unix seconds on the merchant's clock. */
  expireTime: number;
  /** 0: not yet. */
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
  key: ['emailHash'],
  columns: { emailHash: text(), merchantId: integer() },
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
