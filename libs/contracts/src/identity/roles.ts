import { z } from 'zod';
import { Empty, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation, permissionActions, permissionGroups } from '../operation.js';

const merchantRolePermission = z.object({
  group: text,
  permissions: z.array(text),
});
export interface MerchantRolePermission extends z.output<typeof merchantRolePermission> {}
export const MerchantRolePermission: Shape<MerchantRolePermission> = merchantRolePermission.meta({
  id: 'MerchantRolePermission',
});

const merchantRole = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  role: text,
  permissions: z.array(MerchantRolePermission),
});
export interface MerchantRole extends z.output<typeof merchantRole> {}
export const MerchantRole: Shape<MerchantRole> = merchantRole.meta({ id: 'MerchantRole' });

/** Input schema for one of several words. An unknown word is quoted in the message, since a role holds many. */
const oneOf = <const W extends readonly [string, ...string[]]>(words: W) =>
  z.enum(words, {
    error: ({ input }) =>
      typeof input === 'string'
        ? `must be one of ${words.join(', ')}; ${JSON.stringify(input.slice(0, 40))} is not`
        : undefined,
  });

const permissions = input.list(
  z
    .object({
      group: oneOf(permissionGroups),
      permissions: input.list(oneOf(permissionActions), permissionActions.length),
    })
    .meta({ 'x-shape': 'RolePermissionInput' }),
  permissionGroups.length,
);

const roleErrors = ['role_not_found'] as const;
const base = { service: 'identity', permission: 'admin.write' } as const;
const name = input.filledKey.describe("Unique among the merchant's roles, ignoring case");

export const listRoles = operation({
  ...base,
  name: 'role.list',
  methods: ['GET', 'POST'],
  path: '/merchant/role/list',
  summary: 'All roles of the merchant, newest first, at most 100',
  effect: 'read',
  permission: 'admin.read',
  input: z.object({}),
  output: z.object({ merchantRoles: z.array(MerchantRole), total: z.int() }),
  errors: [],
});

export const newRole = operation({
  ...base,
  name: 'role.new',
  methods: ['POST'],
  path: '/merchant/role/new',
  summary: 'Create a role, a named set of permissions to assign to members',
  effect: 'write',
  input: z.object({ role: name, permissions }),
  output: z.object({ merchantRole: MerchantRole }),
  errors: ['too_many_roles'],
});

export const editRole = operation({
  ...base,
  name: 'role.edit',
  methods: ['POST'],
  path: '/merchant/role/edit',
  summary: "Replace a role's name and permissions; members whose permissions change must sign in again",
  effect: 'write',
  input: z.object({ id: z.int(), role: name, permissions }),
  output: z.object({ merchantRole: MerchantRole }),
  errors: roleErrors,
});

export const deleteRole = operation({
  ...base,
  name: 'role.delete',
  methods: ['POST'],
  path: '/merchant/role/delete',
  summary: 'Delete a role that is not assigned to any member',
  effect: 'write',
  input: z.object({ id: z.int() }),
  output: Empty,
  errors: [...roleErrors, 'role_in_use'],
});
