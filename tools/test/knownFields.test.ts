import { expect, it } from '@jest/globals';
import { ignoredFields, operations, validate } from '@recur/contracts';
import fc from 'fast-check';
import { fitting, type Ids, schemaOf } from '../journeys/test/requests.js';
import { kinds } from '../journeys/test/world.js';

const ids = Object.fromEntries(kinds.map(kind => [kind, [1, 'x']])) as unknown as Ids;

it('no operation calls a field of its own unknown', () => {
  const found = operations.flatMap(operation =>
    fc.sample(fitting(schemaOf(operation), ids), { numRuns: 50, seed: 1 }).flatMap(input => {
      const sent = JSON.parse(JSON.stringify(input));
      const checked = validate(operation.input, sent);
      const ignored = checked.ok ? ignoredFields(sent, checked.value) : [];
      return ignored.map(({ path }) => `${operation.name} ${path}`);
    }),
  );
  expect(found).toEqual([]);
});
