import { z } from 'zod';
import { Empty, text, time } from './field.js';
import { createdWithin, email, line, list, newPassword, optionalUrl, paged, paging, q, total } from './input.js';
import { operation } from './operation.js';
import { MerchantMember } from './shapes/member.js';

const base = { service: 'identity', effect: 'write', methods: ['POST'], permission: 'admin.write' } as const;
const roleIds = list(z.int(), 100);
const memberId = z.int();

export const memberProfile = operation({
  ...base,
  name: 'member.profile',
  methods: ['GET'],
  path: '/merchant/member/profile',
  summary: 'The member who asks, with its roles, permissions and devices',
  effect: 'read',
  permission: 'my-account.read',
  input: z.object({}),
  output: z.object({ merchantMember: MerchantMember }),
  errors: [],
  memberOnly: true,
});

export const updateMember = operation({
  ...base,
  name: 'member.update',
  path: '/merchant/member/update',
  summary: 'Change what the member who asks tells of itself; only the fields that are sent change',
  permission: 'my-account.write',
  input: z.object({ firstName: line.optional(), lastName: line.optional(), mobile: line.optional() }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: [],
  memberOnly: true,
});

export const listMembers = operation({
  ...base,
  name: 'member.list',
  methods: ['GET', 'POST'],
  path: '/merchant/member/list',
  summary: 'The members that fit every filter given, newest first; texts match by substring of any case',
  effect: 'read',
  permission: 'admin.read',
  input: paged(
    z.object({
      email: line.optional(),
      searchKey: line.optional().describe('Part of the e-mail or the name'),
      roleIds: q.ints().optional().describe('Members who have one of these roles'),
      ...createdWithin,
      ...paging,
    }),
  ),
  output: z.object({ merchantMembers: z.array(MerchantMember), total }),
  errors: [],
});

export const inviteMember = operation({
  ...base,
  name: 'member.new',
  path: '/merchant/member/new_member',
  summary: 'Invite a member; again for one who was never set up, which gives it a new setupToken and these roles',
  input: z.object({
    email,
    firstName: line.default(''),
    lastName: line.default(''),
    roleIds: roleIds.describe('Of the owner they are not looked at: it may do everything'),
    returnUrl: optionalUrl.optional().describe('Not used: recur sends the member no e-mail'),
  }),
  output: z.object({
    memberId: z.int(),
    setupToken: text.describe('The member sets itself up with it, once; shown this once. The one before holds no more'),
    setupTokenExpireTime: time.describe('72 hours on'),
  }),
  errors: ['role_not_found'],
  secretOutput: true,
});

export const updateMemberRole = operation({
  ...base,
  name: 'member.update_role',
  path: '/merchant/member/update_member_role',
  summary: 'Replace the roles of a member; if that changes what it may do, it signs in again',
  input: z.object({ memberId, roleIds }),
  output: Empty,
  errors: ['member_not_found', 'role_not_found', 'owner_protected'],
});

export const suspendMember = operation({
  ...base,
  name: 'member.suspend',
  path: '/merchant/member/suspend_member',
  summary: 'Suspend a member: its sessions end, and it cannot sign in',
  input: z.object({ memberId }),
  output: Empty,
  errors: ['member_not_found', 'owner_protected', 'self_suspension'],
});

export const resumeMember = operation({
  ...base,
  name: 'member.resume',
  path: '/merchant/member/resume_member',
  summary: 'Let a suspended member sign in again',
  input: z.object({ memberId }),
  output: Empty,
  errors: ['member_not_found'],
});

export const logoutMember = operation({
  ...base,
  name: 'member.logout',
  path: '/merchant/member/logout',
  summary: 'End the session of the member who asks; its other devices stay signed in',
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
  summary:
    'Replace your own password: all sessions end, and a new one is opened for this device with the token answered',
  permission: 'my-account.write',
  input: z.object({ oldPassword: line, newPassword }),
  output: z.object({ token: text }),
  errors: [],
  memberOnly: true,
  checksPassword: true,
  secretInput: true,
  secretOutput: true,
});
