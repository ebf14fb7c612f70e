import { describe, expect, it } from '@jest/globals';
import {
  type AnyOperation,
  internalOperations,
  isInternal,
  operations,
  patternOf,
  planned,
  routed,
  type Service,
  services,
  subjectOf,
} from '@recur/contracts';
import { operationsOf, type ServiceDefinition, snapshotController } from '@recur/platform/testing';
import { billing } from '../../apps/billing/src/service.js';
import { catalog } from '../../apps/catalog/src/service.js';
import { openApi } from '../../apps/gateway/src/docs/openapi.js';
import { identity } from '../../apps/identity/src/service.js';
import { notification } from '../../apps/notification/src/service.js';

type Definition = Pick<ServiceDefinition, 'name' | 'controllers'>;
const definitions: readonly Definition[] = [identity, catalog, billing, notification];

/** Mismatches between the contracts and the handlers of these services. */
function problems(of: readonly Definition[]): string[] {
  const handled = of.flatMap(({ name, controllers = [] }) =>
    [snapshotController(name), ...controllers].flatMap(operationsOf).map(operation => ({ name, operation })),
  );
  const names = handled.map(({ operation }) => nameOf(operation));
  const contracts = [...operations, ...internalOperations].map(nameOf);
  return [
    ...contracts.filter(name => !planned.includes(name) && !names.includes(name)).map(name => `${name} has no handler`),
    ...contracts
      .filter(name => planned.includes(name) && names.includes(name))
      .map(name => `${name} is planned, and handled`),
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
    const api = JSON.stringify(openApi(routed, 'test', 'http://x'));
    for (const { service, name } of internalOperations) {
      expect(routed.some(operation => operation.service === service && operation.name === name)).toBe(false);
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
