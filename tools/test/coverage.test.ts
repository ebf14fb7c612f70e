import { describe, expect, it } from '@jest/globals';
import { operations, planned, type Service, services } from '@recur/contracts';
import { handlersOf, type ServiceDefinition } from '@recur/platform/testing';
import { billing } from '../../apps/billing/src/service.js';
import { catalog } from '../../apps/catalog/src/service.js';
import { identity } from '../../apps/identity/src/service.js';
import { notification } from '../../apps/notification/src/service.js';

type Definition = Pick<ServiceDefinition, 'name' | 'handlers'>;
const definitions: readonly Definition[] = [identity, catalog, billing, notification];

/** Mismatches between the contracts and the handlers of these services. */
function problems(of: readonly Definition[]): string[] {
  const handled = of.flatMap(({ name, handlers }) =>
    handlers.flatMap(type => handlersOf(Object.create(type.prototype)).map(({ operation }) => ({ name, operation }))),
  );
  const names = handled.map(({ operation }) => operation.name);
  return [
    ...operations
      .filter(({ name }) => !planned.includes(name) && !names.includes(name))
      .map(({ name }) => `${name} has no handler`),
    ...operations
      .filter(({ name }) => planned.includes(name) && names.includes(name))
      .map(({ name }) => `${name} is planned, and handled`),
    ...names.filter((name, at) => names.indexOf(name) !== at).map(name => `${name} has two handlers`),
    ...handled
      .filter(({ name, operation }) => operation.service !== (name as Service))
      .map(({ name, operation }) => `${operation.name} is handled by ${name}`),
  ];
}

describe('operations and handlers', () => {
  it('fit one to one', () => {
    expect(definitions.map(({ name }) => name)).toEqual(services);
    expect(problems(definitions)).toEqual([]);
  });

  it('detects missing, duplicate and misplaced handlers', () => {
    const without = definitions.filter(({ name }) => name !== 'billing');
    expect(problems(without)).toContain('invoice.new has no handler');
    expect(problems([...definitions, billing])).toContain('invoice.new has two handlers');
    expect(problems([...without, { ...billing, name: 'catalog' }])).toContain('invoice.new is handled by catalog');
  });
});
