import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { type Client, orThrow } from '@recur/client';
import { anyUser, type Operation, operations } from '@recur/contracts';
import { freePort } from '@recur/platform/testing';
import { sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import { Pool } from 'undici';
import { apps } from '../../local/apps.js';
import { alive } from '../../local/record.js';
import { problem } from './answers.js';
import { heldBy, inspectable } from './heap.js';
import { distortions, fitting, type Ids, queryOf, schemaOf, smallestOf, spoilt } from './requests.js';
import { type Stand, startStand } from './stand.js';
import { kinds, make } from './world.js';

const requests = sized(6_000, 100_000);
const inFlight = 32;
const seed = jest.getSeed();

let stand: Stand;
let inspectors: { app: string; port: number }[];
let pool: Pool | undefined;
let authorization: string;
/** The credential of a user who has opened the hosted pages; that of the round before while it is still being sent. */
let userAuthorization: string;
let api: Client;
let ids: Ids;

beforeAll(async () => {
  inspectors = await Promise.all(apps.map(async app => ({ app, port: await freePort() })));
  stand = await startStand(Object.fromEntries(inspectors.map(({ app, port }) => [app, inspectable(port)])));
  const shop = await stand.shop('Generated');
  api = shop.api;
  authorization = `Bearer ${shop.apiKey}`;
  pool = new Pool(stand.stack.facts().baseUrl, { connections: inFlight });
});
afterAll(async () => {
  await pool?.close();
  await stand.close();
});

const authorizationOf = ({ permission }: Operation) => (permission === anyUser ? userAuthorization : authorization);

/** Opens the hosted pages as a new user. */
async function openPages(): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  const { clientSession } = orThrow(await api.post('/merchant/session/new_session', { email }));
  const { token } = orThrow(await api.post('/portal/session/exchange', { clientSession }));
  return `Bearer ${token}`;
}

/** A few objects of each kind; of the invoices, drafts and open ones. */
async function freshIds(): Promise<Ids> {
  userAuthorization = await openPages();
  // a merchant may have a hundred endpoints, and generated requests make many
  const { endpointList } = orThrow(await api.get('/merchant/webhook/endpoint_list', {}));
  await Promise.all(
    endpointList.map(({ id }) => api.post('/merchant/webhook/delete_endpoint', { endpointId: id }).then(orThrow)),
  );
  // and fifty checkout templates
  const { merchantCheckouts } = orThrow(await api.post('/merchant/checkout/list', {}));
  await Promise.all(
    merchantCheckouts.map(({ id }) => api.post('/merchant/checkout/archive', { checkoutId: id }).then(orThrow)),
  );
  // the rate that the smallest question is about
  const rule = { defaultCurrency: 'EUR', currencyConfigs: [{ currency: 'JPY', exchangeRate: 162.5 }] };
  orThrow(await api.post('/merchant/setup_multi_currencies', { multiCurrencyConfigs: [rule] }));
  const lists = kinds.map(async kind => {
    const several = Array.from({ length: kind === 'invoice' ? 12 : 4 }, () => make(kind, api));
    return [kind, await Promise.all(several)];
  });
  const made = Object.fromEntries(await Promise.all(lists)) as Ids;
  await Promise.all(
    made.invoice
      .slice(6)
      .map(id => api.post('/merchant/invoice/finish', { invoiceId: String(id), daysUtilDue: 3 }).then(orThrow)),
  );
  // the products of before have plans, and the plans are active: neither can be deleted
  const bare = made.product.map(() => api.post('/merchant/product/new', {}).then(orThrow));
  const products = (await Promise.all(bare)).map(({ product }) => product.id);
  return {
    ...made,
    product: [...made.product, ...products],
    plan: [...made.plan, ...made.addon, ...made.onetimeAddon],
  };
}

/** The same, each kind beginning with another. */
function from(at: number, all: Ids): Ids {
  const turned = Object.entries(all).map(([kind, list]) => {
    const first = at % list.length;
    return [kind, [...list.slice(first), ...list.slice(0, first)]];
  });
  return Object.fromEntries(turned) as Ids;
}

interface Request {
  operation: Operation;
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  headers: Record<string, string>;
}

const turns = sized(15, 50);

/** How many of the turns an operation takes part in: the last of them. */
function turnsOf({ signIn, name }: Operation): number {
  // who signs in has a password hashed, which is slow on purpose
  if (signIn) return sized(2, 5);
  // if objects ended as soon as they are made, most requests would be about what is no more
  return /archive|cancel|delete|disconnect|finish|gateway|mark_|revoke|setup/.test(name) ? sized(6, 20) : turns;
}

/** A request of an operation: fitting, or with one thing wrong in its input or around it. */
function requestOf(operation: Operation): fc.Arbitrary<Request> {
  const fits = fc.oneof(
    { arbitrary: fitting(schemaOf(operation), ids), weight: 4 },
    { arbitrary: fc.nat(11).map(at => smallestOf(operation, from(at, ids))), weight: 2 },
  );
  const input = fc.oneof({ arbitrary: fits, weight: 3 }, { arbitrary: spoilt(fits), weight: 2 });
  const body = fc.oneof(
    { arbitrary: input.map(value => JSON.stringify(value) ?? ''), weight: 30 },
    { arbitrary: fc.constantFrom('', '{', 'null', '[]', '"', '{"a":1}{', '\uFEFF{}', '['.repeat(5000)), weight: 1 },
  );
  const key = fc.option(
    fc
      .string({ minLength: 1, maxLength: 20, unit: fc.integer({ min: 32, max: 126 }).map(c => String.fromCharCode(c)) })
      .map(text => text.trim() || 'k'),
    { freq: 3, nil: undefined },
  );
  const type = fc.oneof(
    { arbitrary: fc.constant('application/json'), weight: 30 },
    fc.constantFrom('text/plain', 'application/json; charset=latin1', ''),
  );
  return fc
    .tuple(fc.constantFrom(...operation.methods), input, body, key, type, distortions)
    .map(([method, asked, text, idempotencyKey, contentType, distortion]) => {
      const own = {
        authorization: authorizationOf(operation),
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      };
      const headers = { ...distortion.headers, ...own };
      if (method === 'GET') return { operation, method, path: `${operation.path}?${queryOf(asked)}`, headers };
      return {
        operation,
        method,
        path: operation.path,
        body: distortion.body(text),
        headers: { ...headers, ...(contentType && { 'content-type': contentType }) },
      };
    });
}

/** The smallest request of an operation that fits. */
function plainly(operation: Operation): Request {
  const [input, method] = [smallestOf(operation, ids), operation.methods[0] ?? 'POST'];
  const own = { authorization: authorizationOf(operation) };
  if (method === 'GET') return { operation, method, path: `${operation.path}?${queryOf(input)}`, headers: own };
  const headers = { ...own, 'content-type': 'application/json' };
  return { operation, method, path: operation.path, body: JSON.stringify(input), headers };
}

it(`answers ${requests} generated requests as the contract says, and grows no memory (seed ${seed})`, async () => {
  const random = fc.sample(fc.nat(), { numRuns: 1, seed });
  /** MiB that the apps hold, half-way and at the end. */
  const memory: Promise<number>[] = [];
  const look = async () => {
    const running = alive(stand.stack.home);
    const held = await Promise.all(inspectors.map(({ app, port }) => heldBy(running.get(app)?.pid as number, port)));
    return held.reduce((sum, own) => sum + own);
  };
  const sender = pool as Pool;
  /** Whether each operation was answered and whether it was refused. */
  const outcomes = new Set([
    // there is one wire transfer per merchant, and this merchant has it
    'gateway.wire_transfer_setup fine',
    // and one sandbox gateway, which the objects are made with
    'gateway.setup fine',
    // three names that belong together: gateway, user and method
    'payment.method_get fine',
    'payment.method_delete fine',
    // a link works once, and none is guessed
    'portal.session_exchange fine',
    // the users that requests name have no subscription
    'session.user_sub_update_url fine',
    // the gateway's currency is edited all the time, and nothing is authorised by chance
    'invoice.mark_wire_transfer_success fine',
    'payment.capture fine',
    // these depend on the state of a subscription, which billing's own tests walk through
    ...operations
      .filter(({ name }) => /^subscription\.|^metric\.(event|limit_adjust|history)/.test(name))
      .map(({ name }) => `${name} fine`),
    // a user of the hosted pages who has just opened them has none of these
    ...operations
      .filter(({ name, errors: own }) => name.startsWith('portal.') && own.some(slug => slug.endsWith('_not_found')))
      .map(({ name }) => `${name} fine`),
    // these are a member's own affairs, and refuse every API key; and nobody is signed in by chance
    ...operations.filter(({ memberOnly, signIn }) => memberOnly || signIn).map(({ name }) => `${name} fine`),
  ]);
  const never = () =>
    operations.flatMap(({ name }) => [`${name} fine`, `${name} refused`].filter(outcome => !outcomes.has(outcome)));
  const found: string[] = [];
  let sent = 0;
  let waiting: Request[] = [];
  let filling: Promise<void> | undefined;
  /** New objects each time, since what was done to the old ones leaves ever fewer moves. */
  const refill = async () => {
    ids = await freshIds();
    const seeded = (random[0] ?? 0) + sent;
    const made = operations.map((operation, at) =>
      fc.sample(requestOf(operation), { numRuns: turnsOf(operation), seed: seeded + at }),
    );
    // by turns, so that what one operation does to an object comes between what others do
    waiting = Array.from({ length: turns }, (_, turn) => made.flatMap(list => list[turn] ?? [])).flat();
  };
  const filled = (): Promise<void> => {
    filling ??= refill().finally(() => {
      filling = undefined;
    });
    return filling;
  };
  const send = async (request: Request) => {
    const { statusCode, body } = await sender.request({
      method: request.method,
      path: request.path,
      body: request.body ?? null,
      headers: request.headers,
    });
    const text = await body.text();
    outcomes.add(`${request.operation.name} ${statusCode === 200 ? 'fine' : 'refused'}`);
    const what = problem(request.operation, statusCode, text);
    if (what)
      found.push(
        `${request.method} ${request.path.slice(0, 300)} ${request.body?.slice(0, 500)}: ${what}: ${text.slice(0, 300)}`,
      );
  };
  const hand = async () => {
    // some moves are rare, and more may have to be tried until each was made
    while ((sent < requests || (never().length > 0 && sent < 2 * requests)) && found.length < 5) {
      if (waiting.length === 0) await filled();
      const request = waiting.pop();
      if (!request) continue;
      if (++sent === Math.ceil(requests / 2)) memory.push(look());
      await send(request);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, hand));
  // what chance has not brought about is asked for by itself, of objects that nothing was done to yet
  for (let round = 0; round < 3 && never().length > 0; round++) {
    ids = await freshIds();
    for (const operation of operations.filter(({ name }) => never().includes(`${name} fine`)))
      await send(plainly(operation));
  }
  // nor is every operation refused by chance, least of all one that takes next to nothing
  for (const operation of operations.filter(({ name }) => never().includes(`${name} refused`))) {
    for (const request of fc.sample(requestOf(operation), { numRuns: 500, seed })) {
      await send(request);
      if (outcomes.has(`${operation.name} refused`)) break;
    }
  }
  memory.push(look());
  expect(found).toEqual([]);
  expect(never()).toEqual([]);
  const [before = 0, after] = await Promise.all(memory);
  // a short run ends while the apps are still warming up
  expect(after).toBeLessThan(before * sized(1.2, 1.05));
  await stand.quiet();
});
