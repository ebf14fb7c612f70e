import {
  anyMember,
  anyUser,
  type Operation,
  type Permission,
  permissionActions,
  permissionGroups,
} from './operation.js';

/** Permissions of one group, as a role lists them. */
interface Granted {
  group: string;
  permissions: readonly string[];
}

/** The grant of an owner: every group, including those added later. */
export const everything = '*';

const allActions = (1 << permissionActions.length) - 1;
const bitsOf = (permissions: readonly string[]) => {
  if (permissions.includes('access')) return allActions;
  return permissionActions.reduce((bits, action, at) => bits | (permissions.includes(action) ? 1 << at : 0), 0);
};

/**
 * The combined permissions of roles as one short text: a hexadecimal digit per group, in the order of
 * `permissionGroups`, with one bit per entry of `permissionActions`. `access` sets all bits of its group. Equal
 * permissions have equal texts, whatever the order and repetition. A group added later goes to the end; texts written
 * before lack its digit.
 */
export function grantOf(granted: readonly Granted[]): string {
  const digits = permissionGroups.map(group =>
    granted
      .filter(of => of.group === group)
      .map(({ permissions }) => bitsOf(permissions))
      .reduce((all, bits) => all | bits, 0),
  );
  return digits.map(digit => digit.toString(16)).join('');
}

/** Permissions as a role keeps them: one entry per group, in order, each action once; `access` stays as it is. */
export function inOrder(granted: readonly Granted[]): { group: string; permissions: string[] }[] {
  return permissionGroups
    .map(group => {
      const listed = granted.filter(of => of.group === group).flatMap(({ permissions }) => permissions);
      return { group, permissions: permissionActions.filter(action => listed.includes(action)) };
    })
    .filter(({ permissions }) => permissions.length > 0);
}

const placeOf = new Map<string, { at: number; bit: number }>(
  permissionGroups.flatMap((group, at) =>
    permissionActions.map((action, bit) => [`${group}.${action}`, { at, bit: 1 << bit }] as const),
  ),
);

/** True if a member's grant holds a permission. What is for users is for no member, the owner included. */
export function allows(grant: string, permission: Operation['permission']): boolean {
  if (permission === anyUser) return false;
  if (grant === everything || permission === anyMember) return true;
  const place = placeOf.get(permission);
  return place !== undefined && (Number.parseInt(grant[place.at] ?? '0', 16) & place.bit) !== 0;
}

/** The permissions that a call of an operation needs beside the operation's own, with the field that each is for. */
export function alsoNeeded(
  { also = [] }: Pick<Operation, 'also'>,
  input: unknown,
): { permission: Permission; by: string }[] {
  const fields = input as Record<string, unknown>;
  return also.flatMap(({ permission, by, is }) => {
    if (by === undefined) return [{ permission, by: '' }];
    const given = by.find(name => Boolean(fields[name]) && (!is || is.includes(String(fields[name]))));
    return given === undefined ? [] : [{ permission, by: given }];
  });
}

/** The permissions of a grant by group, implied ones included, without groups that have none. */
export function permissionsIn(grant: string): { group: string; permissions: string[] }[] {
  return permissionGroups
    .map(group => ({ group, permissions: permissionActions.filter(action => allows(grant, `${group}.${action}`)) }))
    .filter(({ permissions }) => permissions.length > 0);
}
