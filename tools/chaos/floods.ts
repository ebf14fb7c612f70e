import { randomBytes, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { connect } from 'node:net';
import { type Client, createClient, orThrow } from '@recur/client';
import { Pool } from 'undici';

/** Target of an attack: the public port, and the key of a merchant of the attacker's own. */
export interface Target {
  baseUrl: string;
  apiKey: string;
}

/** Attacks until `signal` aborts, and counts what came of each attempt. */
export type Flood = (target: Target, signal: AbortSignal, count: (outcome: string) => void) => Promise<void>;

/** The attacker's address: Linux lets any of 127/8 be one, so that it is not the address of the healthy callers. */
export const attackerAddress = '127.0.0.2';
const limits = { connections: 100, anonymous: 400, idle: 3_000, pauseMs: 20 } as const;

const json = { 'content-type': 'application/json' };
const bearer = ({ apiKey }: Target) => ({ ...json, authorization: `Bearer ${apiKey}` });

interface Shot {
  method?: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Keeps `connections` busy with one request each. */
const shots =
  (connections: number, shot: (target: Target) => Shot): Flood =>
  async (target, signal, count) => {
    const pool = new Pool(target.baseUrl, { connections, localAddress: attackerAddress });
    const shoot = async () => {
      while (!signal.aborted) {
        const { method = 'POST', path, headers, body } = shot(target);
        try {
          const answer = await pool.request({ method, path, headers, ...(body !== undefined && { body }) });
          await answer.body.dump();
          count(String(answer.statusCode));
        } catch {
          count('no answer');
          await pause(limits.pauseMs);
        }
      }
    };
    await Promise.all(Array.from({ length: connections }, shoot));
    await pool.destroy();
  };

/** Links to the PDFs of new invoices: `count` of them, with these lines, to a user of a name without a blank. */
export async function newDocuments(api: Client, names: readonly string[], count: number): Promise<string[]> {
  const gateway = await api.post('/merchant/gateway/wire_transfer_setup', { currency: 'EUR', minimumAmount: 0 });
  const { gatewayId } = orThrow(gateway).gateway;
  const lines = names.map(name => ({ name, description: name, quantity: 1, unitAmountExcludingTax: 1_000 }));
  const links: string[] = [];
  for (let at = 0; at < count; at++) {
    const person = { email: `${randomUUID()}@example.com`, companyName: names[0] ?? '' };
    const { user } = orThrow(await api.post('/merchant/user/new', person));
    const order = { userId: user.id, gatewayId, currency: 'EUR', taxPercentage: 0, lines, finish: true };
    links.push(orThrow(await api.post('/merchant/invoice/new', order)).invoice.gatewayInvoicePdf);
  }
  return links;
}

/** Fetches documents whose texts are words of 1900 letters, as many as there may be. */
const documents: Flood = async (target, signal, count) => {
  const { baseUrl, apiKey: credential } = target;
  const words = Array.from({ length: 20 }, () => 'W'.repeat(1_900));
  const links = await newDocuments(createClient({ baseUrl, credential }), words, 6);
  let at = 0;
  const next = () => new URL(links[at++ % links.length] ?? '').pathname;
  await shots(32, () => ({ method: 'GET', path: next(), headers: {} }))(target, signal, count);
};

const login = '/merchant/auth/sso/login';
const guess = (email: string): Shot => ({
  path: login,
  headers: json,
  body: JSON.stringify({ email, password: randomUUID() }),
});

/** An object with so many members, in a field that no operation has, or in free-form metadata. */
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, at % 2 ? null : 'x']));
const manyKeys = JSON.stringify({ email: 1, metadata: members(60_000) });
const manyMistakes = JSON.stringify({
  userId: 'x',
  currency: 1,
  taxPercentage: 'x',
  lines: Array.from({ length: 500 }, () => ({ quantity: 'x', unitAmountExcludingTax: 'x', name: 1, planId: 'x' })),
});
const manyMembers = JSON.stringify({ email: 'a@example.com', metadata: members(9_890) });
const emptyLines = (count: number) => '{}\n'.repeat(count);
const batch = JSON.stringify({
  events: Array.from({ length: 1_000 }, (_, at) => ({
    userId: at + 1,
    metricCode: `metric-${at}`,
    externalEventId: `event-${at}`,
    metricProperties: { a: 1 },
  })),
});
const largest = JSON.stringify({ email: 'a@example.com', description: 'x'.repeat(1_000_000) });

/** Opens connections that send a head and then `body` byte by byte or not at all; a closed one is replaced. */
const slowly =
  (connections: number, head: string, body: string): Flood =>
  async ({ baseUrl }, signal, count) => {
    const { hostname, port } = new URL(baseUrl);
    setMaxListeners(connections, signal);
    const hold = async () => {
      while (!signal.aborted) {
        const closed = new Promise<void>(resolve => {
          const socket = connect({ host: hostname, port: Number(port), localAddress: attackerAddress });
          const end = () => socket.destroy();
          signal.addEventListener('abort', end, { once: true });
          socket.once('data', data => count(data.toString().slice(9, 12)));
          socket.once('error', () => count('refused'));
          socket.once('close', () => {
            signal.removeEventListener('abort', end);
            resolve();
          });
          socket.write(`${head}${body}`);
        });
        await closed;
        await pause(limits.pauseMs * 10);
      }
    };
    await Promise.all(Array.from({ length: connections }, hold));
  };

const anonymousHead = `POST ${login} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`;

const ingest = (target: Target) => ({
  path: '/merchant/metric/event/ingest',
  headers: { ...bearer(target), 'content-type': 'application/x-ndjson' },
});

/** A flood that asks nothing of recur: what it costs another caller is the share of the processors that it takes. */
export const idleFlood = 'unknown paths';

/** Everything that `--attack` does, by name. */
export const floods: Record<string, Flood> = {
  [idleFlood]: shots(limits.connections, () => ({
    path: `/${randomBytes(8).toString('hex')}`,
    headers: json,
    body: '',
  })),
  'sign-ins with other e-mails': shots(limits.connections, () => guess(`${randomUUID()}@example.com`)),
  'sign-ins with one e-mail': shots(limits.connections, () => guess('target@example.com')),
  'forged tokens': shots(limits.connections, () => ({
    path: '/merchant/user/new',
    headers: { ...json, authorization: `Bearer ${forged()}` },
    body: '{}',
  })),
  'bodies of 60 000 keys': shots(32, target => ({
    path: '/merchant/user/new',
    headers: bearer(target),
    body: manyKeys,
  })),
  'objects of 9 900 members': shots(32, target => ({
    path: '/merchant/user/new',
    headers: bearer(target),
    body: manyMembers,
  })),
  'NDJSON of 349 000 lines': shots(32, target => ({ ...ingest(target), body: emptyLines(349_000) })),
  'NDJSON of 10 000 bad lines': shots(32, target => ({ ...ingest(target), body: emptyLines(10_000) })),
  batches: shots(32, target => ({
    path: '/merchant/metric/event/batch',
    headers: bearer(target),
    body: batch,
  })),
  'bodies with 2000 mistakes': shots(32, target => ({
    path: '/merchant/invoice/new',
    headers: bearer(target),
    body: manyMistakes,
  })),
  'bodies of 1 MiB': shots(32, target => ({
    path: '/merchant/user/new',
    headers: bearer(target),
    body: largest,
  })),
  'documents of long words': documents,
  'anonymous bodies that never end': slowly(
    limits.anonymous,
    `${anonymousHead}content-length: 1000000\r\n\r\n`,
    'x'.repeat(900_000),
  ),
  'connections without a request': slowly(limits.idle, '', 'GET '),
};

const header = Buffer.from('{"alg":"EdDSA","typ":"api-key+jwt","kid":"k1"}').toString('base64url');
const forged = () => `${header}.${randomBytes(90).toString('base64url')}.${randomBytes(64).toString('base64url')}`;
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
