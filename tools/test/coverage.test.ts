import { describe, expect, it } from '@jest/globals';
import {
  type AnyOperation,
  internalOperations,
  isInternal,
  keptBy,
  operations,
  patternOf,
  type Service,
  services,
  shownBy,
  subjectOf,
} from '@recur/contracts';
import { operationsOf, type ServiceDefinition, snapshotController } from '@recur/platform/testing';
import { billing } from '../../apps/billing/src/service.js';
import { catalog } from '../../apps/catalog/src/service.js';
import { openApi } from '../../apps/gateway/src/docs/openapi.js';
import { identity } from '../../apps/identity/src/service.js';
import { notification } from '../../apps/notification/src/service.js';

type Definition = Pick<ServiceDefinition, 'name' | 'controllers' | 'copies'>;
const definitions: readonly Definition[] = [identity, catalog, billing, notification];

/** Mismatches between the contracts and the handlers of these services. */
function problems(of: readonly Definition[]): string[] {
  const handled = of.flatMap(({ name, controllers = [] }) =>
    [snapshotController(name), ...controllers].flatMap(operationsOf).map(operation => ({ name, operation })),
  );
  const names = handled.map(({ operation }) => nameOf(operation));
  const contracts = [...operations, ...internalOperations].map(nameOf);
  return [
    ...contracts.filter(name => !names.includes(name)).map(name => `${name} has no handler`),
    ...names.filter(name => !contracts.includes(name)).map(name => `${name} has no contract`),
    ...names.filter((name, at) => names.indexOf(name) !== at).map(name => `${name} has two handlers`),
    ...handled
      .filter(({ name, operation }) => operation.service !== (name as Service))
      .map(({ name, operation }) => `${nameOf(operation)} is handled by ${name}`),
  ];
}

/** Every service has internal operations of the same names. */
const nameOf = (operation: AnyOperation) => (isInternal(operation) ? patternOf(operation) : operation.name);

describe('operations and handlers', () => {
  it('fit one to one', () => {
    expect(definitions.map(({ name }) => name)).toEqual(services);
    expect(problems(definitions)).toEqual([]);
  });

  it('internal ones are neither routed nor described, and have subjects of their own', () => {
    const api = JSON.stringify(openApi(operations, 'test', 'http://x'));
    for (const { service, name } of internalOperations) {
      expect(operations.some(operation => operation.service === service && operation.name === name)).toBe(false);
      expect(api).not.toContain(name);
    }
    const subjects = [...operations, ...internalOperations].map(subjectOf);
    expect(new Set(subjects).size).toBe(subjects.length);
  });

  it('detects missing, duplicate and misplaced handlers', () => {
    const without = definitions.filter(({ name }) => name !== 'billing');
    expect(problems(without)).toContain('invoice.new has no handler');
    expect(problems(without)).toContain('billing.platform.state has no handler');
    expect(problems([...definitions, billing])).toContain('invoice.new has two handlers');
    expect(problems([...without, { ...billing, name: 'catalog' }])).toContain('invoice.new is handled by catalog');
  });
});

/** Copies that no owner waits for, and keepers that it would wait for in vain. */
function unawaited(of: readonly Definition[]): string[] {
  const kept = of.flatMap(({ name, copies = [] }) =>
    copies.map(({ owner, aggregate }) => `${owner} ${aggregate} ${name}`),
  );
  const [awaited = [], shown = []] = [keptBy, shownBy].map(copies =>
    Object.entries(copies).flatMap(([owner, aggregates]) =>
      Object.entries(aggregates).flatMap(([aggregate, keepers]) =>
        keepers.map(keeper => `${owner} ${aggregate} ${keeper}`),
      ),
    ),
  );
  return [
    ...kept.filter(copy => !awaited.includes(copy) && !shown.includes(copy)).map(copy => `${copy} is not awaited`),
    ...[...awaited, ...shown].filter(copy => !kept.includes(copy)).map(copy => `${copy} keeps no copy`),
  ];
}

describe('copies', () => {
  it('are awaited by their owners where they are computed with', () => {
    expect(unawaited(definitions)).toEqual([]);
  });

  it('detects one that nobody waits for, and a keeper that keeps nothing', () => {
    const [user] = billing.copies ?? [];
    const planted = { ...catalog, copies: user ? [user] : [] };
    expect(unawaited([identity, planted, billing])).toEqual(['identity user catalog is not awaited']);
    expect(unawaited([identity, { ...billing, copies: [] }])).toContain('identity user billing keeps no copy');
  });
});
