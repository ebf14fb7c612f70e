import { allows, everything, grantOf, type Permission, permissionActions, permissionGroups } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Caller, Reader } from '@recur/platform';
import { type Member, members, type Role, roles } from './tables.js';

/** Roles by their id. */
export type RolesById = ReadonlyMap<number, Role>;

/** The roles of these members. */
export async function rolesOf(reader: Reader, members: readonly Member[]): Promise<RolesById> {
  const ids = members.flatMap(({ roleIds }) => roleIds);
  const found = await reader.among(roles, 'id', ids);
  return new Map(found.map(role => [role.id, role]));
}

/** A member's grant: the union of its roles' permissions; everything for the owner. */
export function grantIn(known: RolesById, { isOwner, roleIds }: Member): string {
  return isOwner ? everything : grantOf(roleIds.flatMap(id => known.get(id)?.permissions ?? []));
}

/** The grant of a caller: everything for API keys and the system, which act as the owner; else its member's grant. */
export async function grantOfCaller(reader: Reader, { actor }: Caller): Promise<string> {
  if (actor.kind !== 'member') return everything;
  const member = await reader.find(members, { id: Number(actor.id) });
  if (!member) throw new Rejected('permission_denied');
  return grantIn(await rolesOf(reader, [member]), member);
}

const allPermissions: readonly Permission[] = permissionGroups.flatMap(group =>
  permissionActions.map((action): Permission => `${group}.${action}`),
);

/** True if one grant includes another. The owner's includes every grant, and nothing less includes the owner's. */
export const covers = (grant: string, other: string): boolean =>
  grant === everything || (other !== everything && lacking(grant, other).length === 0);

/** The permissions of `other` that `grant` lacks. */
const lacking = (grant: string, other: string): Permission[] =>
  allPermissions.filter(permission => allows(other, permission) && !allows(grant, permission));

/**
 * Refuses a caller that would give a member permissions which the caller does not hold. `given` is the member's new
 * grant; permissions that it had `before` do not count.
 */
export async function refuseExcess(reader: Reader, caller: Caller, given: string, before = ''): Promise<void> {
  const added = lacking(before, given);
  if (added.length === 0) return;
  const grant = await grantOfCaller(reader, caller);
  if (grant === everything) return;
  if (given === everything) throw new Rejected('permission_denied', 'Only the owner and API keys may do that');
  const missing = added.filter(permission => !allows(grant, permission));
  if (missing.length === 0) return;
  throw new Rejected('permission_denied', `You cannot grant permissions that you do not hold: ${missing.join(', ')}`);
}
