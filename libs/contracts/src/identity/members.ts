import { z } from 'zod';
import { memberStatus, totpType } from '../codes.js';
import { code, Empty, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyMember, operation } from '../operation.js';
import { MerchantRole, MerchantRolePermission } from './roles.js';

const memberDevice = z.object({
  currentDevice: flag,
  identity: text,
  ipAddress: text,
  name: text,
  lastActiveTime: time,
  lastLoginTime: time,
  lastTotpVerificationTime: time,
  status: flag,
});
export interface MemberDevice extends z.output<typeof memberDevice> {}
export const MemberDevice: Shape<MemberDevice> = memberDevice.meta({ id: 'MemberDevice' });

const oauthAccount = z.object({
  email: text,
  image: text,
  name: text,
  provider: text,
  providerId: text,
  emailVerified: flag,
});
export interface OauthAccount extends z.output<typeof oauthAccount> {}
export const OauthAccount: Shape<OauthAccount> = oauthAccount.meta({ id: 'OauthAccount' });

const merchantMember = z.object({
  id: integer,
  merchantId: integer,
  email: text,
  firstName: text,
  lastName: text,
  mobile: text,
  createTime: time,
  isOwner: flag,
  isBlankPasswd: flag,
  status: code(memberStatus),
  totpType: code(totpType),
  currentDeviceIdentity: text,
  deviceList: z.array(MemberDevice),
  MemberRoles: z.array(MerchantRole),
  MemberGroupPermission: z.record(z.string(), MerchantRolePermission),
  oauthAccounts: z.array(OauthAccount),
});
export interface MerchantMember extends z.output<typeof merchantMember> {}
export const MerchantMember: Shape<MerchantMember> = merchantMember.meta({ id: 'MerchantMember' });

const memberShort = z.object({
  createTime: time,
  id: integer,
  merchantId: integer,
  email: text,
  firstName: text,
  lastName: text,
  isOwner: flag,
});
export interface MemberShort extends z.output<typeof memberShort> {}
export const MemberShort: Shape<MemberShort> = memberShort.meta({ id: 'MemberShort' });

const base = { service: 'identity', effect: 'write', methods: ['POST'], permission: 'admin.write' } as const;
const roleIds = input.list(z.int(), 100);
const memberId = z.int();

export const memberProfile = operation({
  ...base,
  name: 'member.profile',
  methods: ['GET'],
  path: '/merchant/member/profile',
  summary: 'The signed-in member with roles, permissions and devices',
  effect: 'read',
  permission: anyMember,
  input: z.object({}),
  output: z.object({ merchantMember: MerchantMember }),
  errors: [],
  memberOnly: true,
});

export const updateMember = operation({
  ...base,
  name: 'member.update',
  path: '/merchant/member/update',
  summary: "Update the signed-in member's own profile; only the fields sent change",
  permission: 'my-account.write',
  input: z.object({ firstName: input.line.optional(), lastName: input.line.optional(), mobile: input.line.optional() }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: [],
  memberOnly: true,
});

export const listMembers = operation({
  ...base,
  name: 'member.list',
  methods: ['GET', 'POST'],
  path: '/merchant/member/list',
  summary: 'Members that match every filter, newest first; texts match by case-insensitive substring',
  effect: 'read',
  permission: 'admin.read',
  input: input.paged(
    z.object({
      email: input.line.optional(),
      searchKey: input.line.optional().describe('Part of the e-mail or name'),
      roleIds: input.q.ints().optional().describe('Members with any of these roles'),
      ...input.createdWithin,
      ...input.paging,
    }),
  ),
  output: z.object({ merchantMembers: z.array(MerchantMember), total: input.total }),
  errors: [],
});

export const inviteMember = operation({
  ...base,
  name: 'member.new',
  path: '/merchant/member/new_member',
  summary: 'Invite a member; repeating it before setup issues a new setupToken and replaces the roles',
  input: z.object({
    email: input.email,
    firstName: input.line.default(''),
    lastName: input.line.default(''),
    roleIds: roleIds.describe('Ignored for the owner, who has every permission'),
    returnUrl: input.optionalUrl.optional().describe('Not used: recur sends no e-mail to the member'),
  }),
  output: z.object({
    memberId: z.int(),
    setupToken: text.describe("Completes the member's setup; single use, shown only once, replaces any earlier token"),
    setupTokenExpireTime: time.describe('72 hours from now'),
  }),
  errors: ['role_not_found'],
  secretOutput: true,
});

export const updateMemberRole = operation({
  ...base,
  name: 'member.update_role',
  path: '/merchant/member/update_member_role',
  summary: "Replace a member's roles; if their permissions change, they must sign in again",
  input: z.object({ memberId, roleIds }),
  output: Empty,
  errors: ['member_not_found', 'role_not_found', 'owner_protected'],
});

export const suspendMember = operation({
  ...base,
  name: 'member.suspend',
  path: '/merchant/member/suspend_member',
  summary: 'Suspend a member: their sessions end and they cannot sign in',
  input: z.object({ memberId }),
  output: Empty,
  errors: ['member_not_found', 'owner_protected', 'self_suspension'],
});

export const resumeMember = operation({
  ...base,
  name: 'member.resume',
  path: '/merchant/member/resume_member',
  summary: 'Allow a suspended member to sign in again',
  input: z.object({ memberId }),
  output: Empty,
  errors: ['member_not_found'],
});

export const logoutMember = operation({
  ...base,
  name: 'member.logout',
  path: '/merchant/member/logout',
  summary: 'Sign the member out of the current session; other devices stay signed in',
  permission: 'my-account.access',
  input: z.object({}),
  output: Empty,
  errors: [],
  memberOnly: true,
});

export const resetPassword = operation({
  ...base,
  name: 'member.reset_password',
  path: '/merchant/member/passwordReset',
  summary: "Change the signed-in member's password: all sessions end, and a new one opens with the token returned",
  permission: 'my-account.write',
  input: z.object({ oldPassword: input.line, newPassword: input.newPassword }),
  output: z.object({ token: text }),
  errors: [],
  memberOnly: true,
  checksPassword: true,
  secretInput: true,
  secretOutput: true,
});
