import { describe, expect, it } from '@jest/globals';
import { type Permission, permissionActions, permissionGroups } from '../src/operation.js';
import { allows, everything, grantOf, permissionsIn } from '../src/permissions.js';

const all = permissionGroups.flatMap(group => permissionActions.map((action): Permission => `${group}.${action}`));
const asGroups = (permissions: readonly Permission[]) =>
  permissions.map(permission => {
    const [group = '', action = ''] = permission.split('.');
    return { group, permissions: [action] };
  });
const allowed = (grant: string) => all.filter(permission => allows(grant, permission));

describe('a grant', () => {
  it('allows exactly the permission that it was made of, whichever', () => {
    for (const permission of all) {
      expect(allowed(grantOf(asGroups([permission])))).toEqual([permission]);
      const others = all.filter(other => other !== permission);
      expect(allowed(grantOf(asGroups(others)))).toEqual(others);
    }
    expect(allowed(grantOf([]))).toEqual([]);
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
      { group: 'user', permissions: ['access', 'write'] },
    ]);
    expect(grantOf(permissionsIn(grant))).toBe(grant);
    expect(permissionsIn(everything)).toHaveLength(15);
  });
});
