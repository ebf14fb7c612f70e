import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  type Also,
  anyMember,
  type Operation,
  type Permission,
  permissionActions,
  permissionGroups,
} from '../src/operation.js';
import { operations } from '../src/operations.js';
import { allows, alsoNeeded, everything, grantOf, inOrder, permissionsIn } from '../src/permissions.js';

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

/** Effects by the names of the fields that bring them, and the permission that guards each elsewhere. */
const effects: [of: RegExp, field: RegExp, permission: Permission][] = [
  // money out
  [/^\/merchant\//, /^refund$|refundAmount/i, 'refund.write'],
  // the price
  [/^\/merchant\//, /^discount$|^discount(Amount|Percentage)$/, 'discount-code.write'],
  // an ending
  [/^\/merchant\//, /^cancelSubscription$/, 'subscription.write'],
  // where money goes, and who may say that it came
  [/^\/merchant\/gateway\//, /key|secret|bank|subGateway/i, 'transaction.write'],
];

/** Fields of commands whose effect another permission guards, and that do not ask for it. */
function bought(all: readonly Operation[]): string[] {
  return all
    .filter(({ effect }) => effect === 'write')
    .flatMap(operation => {
      const { path, permission } = operation;
      const { properties = {} } = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
      return Object.keys(properties).flatMap(name =>
        effects
          .filter(([of, field]) => of.test(path) && field.test(name))
          .map(([, , guarding]) => guarding)
          .filter(guarding => guarding !== permission)
          .filter(guarding => !alsoNeeded(operation, { [name]: 'x' }).some(each => each.permission === guarding))
          .map(guarding => `${path}: ${name} without ${guarding}`),
      );
    });
}

describe('an effect that a permission guards', () => {
  it('takes that permission wherever a field brings it: money out, a price, an ending, the secrets of a path of money', () => {
    expect(bought(operations)).toEqual([]);
  });

  it('is found where it is for free', () => {
    const free = operations.map(operation => ({ ...operation, also: [] }));
    expect(bought(free)).toEqual(
      expect.arrayContaining([
        '/merchant/subscription/cancel: refund without refund.write',
        '/merchant/subscription/create_submit: discount without discount-code.write',
        '/merchant/gateway/setup_webhook: webhookSecret without transaction.write',
        '/merchant/gateway/wire_transfer_setup: bank without transaction.write',
        '/merchant/invoice/refund: cancelSubscription without subscription.write',
      ]),
    );
    expect(bought(free).length).toBeGreaterThan(10);
  });

  it('is asked for by each value that brings it, and by no empty one', () => {
    const also: Also[] = [{ permission: 'refund.write', by: ['refund', 'money'] }, { permission: 'plan.read' }];
    const always = { permission: 'plan.read', by: '' };
    for (const empty of [{}, { refund: false, money: '' }, { money: 0, refund: undefined }]) {
      expect(alsoNeeded({ also }, empty)).toEqual([always]);
    }
    expect(alsoNeeded({ also }, { money: 1 })).toEqual([{ permission: 'refund.write', by: 'money' }, always]);
    expect(alsoNeeded({}, { refund: true })).toEqual([]);
  });
});
