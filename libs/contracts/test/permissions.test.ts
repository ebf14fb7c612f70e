import { describe, expect, it } from '@jest/globals';
import { anyMember, type Permission, permissionActions, permissionGroups } from '../src/operation.js';
import { allows, everything, grantOf, inOrder, permissionsIn } from '../src/permissions.js';

const all = permissionGroups.flatMap(group => permissionActions.map((action): Permission => `${group}.${action}`));
const asGroups = (permissions: readonly Permission[]) =>
  permissions.map(permission => {
    const [group = '', action = ''] = permission.split('.');
    return { group, permissions: [action] };
  });
const allowed = (grant: string) => all.filter(permission => allows(grant, permission));

describe('a grant', () => {
  const single = all.filter(permission => !permission.endsWith('.access'));

  it('allows exactly the permission that it was made of, whichever', () => {
    for (const permission of single) {
      expect(allowed(grantOf(asGroups([permission])))).toEqual([permission]);
      const others = single.filter(other => other !== permission);
      expect(allowed(grantOf(asGroups(others)))).toEqual(others);
    }
    expect(allowed(grantOf([]))).toEqual([]);
  });

  it('of access to a group allows all of that group and nothing else', () => {
    for (const group of permissionGroups) {
      const grant = grantOf(asGroups([`${group}.access`]));
      expect(allowed(grant)).toEqual(all.filter(permission => permission.startsWith(`${group}.`)));
      expect(grant).toBe(grantOf([{ group, permissions: permissionActions }]));
    }
  });

  it('is kept by a role in order, each permission once and nothing implied', () => {
    const given = asGroups(['user.write', 'user.read', 'plan.access', 'user.read']);
    expect(inOrder([...given, { group: 'invoice', permissions: [] }])).toEqual([
      { group: 'plan', permissions: ['access'] },
      { group: 'user', permissions: ['read', 'write'] },
    ]);
  });

  it('of nothing allows what any member may', () => {
    expect(allows(grantOf([]), anyMember)).toBe(true);
  });

  it('of everything allows all, and what is no grant allows nothing', () => {
    expect(allowed(everything)).toEqual(all);
    for (const text of ['', 'x', '**']) expect(allowed(text)).toEqual([]);
    expect(allows('f'.repeat(15), 'planes.read' as Permission)).toBe(false);
  });

  it('is one text, whatever the order and the repetitions', () => {
    const shuffled = [...asGroups(all)].reverse();
    expect(grantOf([...shuffled, ...shuffled])).toBe(grantOf(asGroups(all)));
    expect(
      grantOf([
        { group: 'planes', permissions: ['read'] },
        { group: 'plan', permissions: ['fly'] },
      ]),
    ).toBe(grantOf([]));
  });

  it('is written out by group, and read again', () => {
    const grant = grantOf(asGroups(['user.write', 'plan.read', 'user.access']));
    expect(permissionsIn(grant)).toEqual([
      { group: 'plan', permissions: ['read'] },
      { group: 'user', permissions: ['access', 'read', 'write', 'download'] },
    ]);
    expect(grantOf(permissionsIn(grant))).toBe(grant);
    expect(permissionsIn(everything)).toHaveLength(15);
  });
});
