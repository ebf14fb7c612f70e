import { everything, grantOf } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import type { Member } from './tables.js';
import { type Role, roles } from './tables.js';

/** Roles by their id. */
export type Roles = ReadonlyMap<number, Role>;

/** The roles of these members. */
export async function rolesOf(reader: Reader, members: readonly Member[]): Promise<Roles> {
  const ids = members.flatMap(({ roleIds }) => roleIds);
  const found = await reader.among(roles, 'id', ids);
  return new Map(found.map(role => [role.id, role]));
}

/** A member's grant: the union of its roles' permissions; everything for the owner. */
export function grantIn(known: Roles, { isOwner, roleIds }: Member): string {
  return isOwner ? everything : grantOf(roleIds.flatMap(id => known.get(id)?.permissions ?? []));
}
