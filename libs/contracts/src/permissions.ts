import { type Permission, permissionActions, permissionGroups } from './operation.js';

/** Permissions of one group, as a role lists them. */
interface Granted {
  group: string;
  permissions: readonly string[];
}

/** The grant of an owner: whatever groups there will ever be. */
export const everything = '*';

/**
 * What roles permit together, in one short text: a hexadecimal digit for each group, in the order of
 * `permissionGroups`, with a bit for each of `permissionActions`. Equal permissions have equal texts, in whatever order
 * and however often they are listed. A group that is added later goes to the end, where older texts lack it.
 */
export function grantOf(granted: readonly Granted[]): string {
  const bits = permissionGroups.map(group =>
    granted
      .filter(of => of.group === group)
      .flatMap(({ permissions }) =>
        permissionActions.map((action, bit) => (permissions.includes(action) ? 1 << bit : 0)),
      )
      .reduce((sum, bit) => sum | bit, 0),
  );
  return bits.map(digit => digit.toString(16)).join('');
}

const placeOf = new Map<string, { at: number; bit: number }>(
  permissionGroups.flatMap((group, at) =>
    permissionActions.map((action, bit) => [`${group}.${action}`, { at, bit: 1 << bit }] as const),
  ),
);

/** Whether a grant holds a permission. */
export function allows(grant: string, permission: Permission): boolean {
  if (grant === everything) return true;
  const place = placeOf.get(permission);
  return place !== undefined && (Number.parseInt(grant[place.at] ?? '0', 16) & place.bit) !== 0;
}

/** The permissions of a grant, by group; groups of which it has none are left out. */
export function permissionsIn(grant: string): { group: string; permissions: string[] }[] {
  return permissionGroups
    .map(group => ({ group, permissions: permissionActions.filter(action => allows(grant, `${group}.${action}`)) }))
    .filter(({ permissions }) => permissions.length > 0);
}
