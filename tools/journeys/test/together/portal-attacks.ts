import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import { anyUser, type Operation, operations } from '@recur/contracts';
import { Wire } from '../../wire.js';
import { problem } from '../answers.js';
import { type Field, fieldsOf, queryOf, schemaOf, withAt } from '../requests.js';
import { expectFailure, type Stand, sharedStand, times } from '../stand.js';
import { inputOf, openPlace, type Place, visit } from '../visitors.js';

const portal = operations.filter(({ permission }) => permission === anyUser);

/** Values that no field takes: other types, edges of numbers, texts that break parsers, and much of everything. */
const junk: readonly unknown[] = [
  null,
  true,
  '',
  ' ',
  0,
  -1,
  0.5,
  2 ** 31,
  2 ** 53,
  1e308,
  [],
  {},
  [[[[]]]],
  { $ne: null },
  '\0',
  '\ud800',
  'NaN',
  '__proto__',
  `' or 1=1 --`,
  '../../x',
  '<b>',
  'javascript:alert(1)',
  'x'.repeat(20_000),
  Array(2_000).fill(0),
  JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`),
];

let stand: Stand;
let place: Place;

beforeAll(async () => {
  stand = await sharedStand();
  place = await openPlace(stand, 'Attacked');
});

/** Outcomes that were seen, each with an operation of which it was one. */
const seen = new Map<string, string>();

/** Faults in the answers to an operation when one of its fields is junk, of a caller that owns all else. */
async function wrongIn(wire: Wire, operation: Operation, field: Field, base: object): Promise<string[]> {
  const asked = operation.methods.flatMap(method => junk.map(value => [method, value] as const));
  const answers = asked.map(async ([method, value]) => {
    const input = withAt(base, field.path, value) as object;
    const { path } = operation;
    const said = method === 'GET' ? wire.request(`${path}?${queryOf(input)}`) : wire.send(path, input);
    const { status, text, envelope } = await said;
    seen.set(envelope.error?.type ?? 'fine', operation.name);
    const what = problem(operation, status, text);
    return what ? [`${method} ${path} ${field.path.join('.')} ${JSON.stringify(value)?.slice(0, 60)}: ${what}`] : [];
  });
  return (await Promise.all(answers)).flat();
}

describe('whoever opens the hosted pages', () => {
  it('is answered as the contract says, whatever stands in any field of any operation', async () => {
    const told: string[] = [];
    for (const operation of portal) {
      const visitor = await visit(place);
      const base = await inputOf(operation, visitor);
      for (const field of fieldsOf(schemaOf(operation)))
        told.push(...(await wrongIn(visitor.wire, operation, field, base)));
    }
    expect(told).toEqual([]);
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['fine', 'invalid_parameters', 'invoice_not_found']));
    const [first] = portal as [Operation];
    const planted = { code: 50, data: {}, merchantId: 1, message: 'x', redirect: '', requestId: '' };
    const error = { type: 'internal_error', issues: [] };
    expect(problem(first, 500, JSON.stringify({ ...planted, error }))).toBeDefined();
    await stand.quiet();
  });

  it('exchanges a link once, however often it is tried at once and by whom', async () => {
    const { baseUrl, api } = place;
    const email = `${randomUUID()}@example.com`;
    const { clientSession } = orThrow(await api.post('/merchant/session/new_session', { email }));
    const { wire } = await visit(place);
    const callers = [new Wire(baseUrl, ''), wire];
    const path = '/portal/session/exchange';
    const answers = await Promise.all(
      times(64, at => (callers[at % 2] as Wire).send(path, { clientSession }, `${email} ${at}`)),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(63);
    for (const answer of refused) expect(answer.envelope.error?.type).toBe('client_session_used');
  });

  it('reaches nothing of the merchant with a token of a user, and no user with a key of the merchant', async () => {
    const { wire } = await visit(place);
    const key = (await stand.shop('Keys')).wire;
    const ofMerchants = operations.filter(({ permission, anonymous }) => permission !== anyUser && !anonymous);
    const closed = portal.filter(({ anonymous }) => !anonymous);
    expect([ofMerchants.length > 150, closed.length > 20]).toEqual([true, true]);
    for (const [caller, operations] of [[wire, ofMerchants] as const, [key, closed] as const]) {
      for (const { path, methods } of operations) {
        const answer = methods.includes('POST') ? await caller.send(path, {}) : await caller.request(path);
        expectFailure(answer, 403, 63, 'permission_denied');
      }
    }
  });
});
