import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { orThrow } from '@recur/client';
import { services } from '@recur/contracts';
import { readSettings, type Service } from '../../../local/settings.js';
import { type Stand, sharedStand } from '../stand.js';

type OpenShop = Awaited<ReturnType<Stand['shop']>>;
let stand: Stand;
let shop: OpenShop;
let other: OpenShop;
let nc: NatsConnection;

beforeAll(async () => {
  stand = await sharedStand();
  shop = await stand.shop('Forged callers');
  other = await stand.shop('Forger');
  // the account that may do everything on the bus: one right too many is no way in
  const { username, password, host } = new URL(stand.stack.facts().services.nats.url);
  nc = await connect({ servers: host, user: username, pass: password });
});
afterAll(() => nc.close());

/** Headers of a command, in the order in which they are signed. */
interface Headers {
  merchant: string;
  actor: string;
  requestId: string;
  deadline: string;
}

interface Command extends Headers {
  subject: string;
  payload: string;
}

const command = (): Command => ({
  subject: 'cmd.catalog.product.new',
  merchant: String(shop.merchantId),
  actor: '{"kind":"key","id":"1","display":"key"}',
  requestId: `req_forged_${Math.random()}`,
  deadline: String(Date.now() + 5_000),
  payload: JSON.stringify({ productName: 'Forged', description: '' }),
});

const keyOf = (service: Service) => Buffer.from(readSettings(stand.stack.home).callerKeys[service] ?? '', 'base64');

/** The signature of a command as the documents of the bus have it, made without the code of recur. */
const sign = ({ subject, merchant, actor, requestId, deadline, payload }: Command, key: Buffer) =>
  createHmac('sha256', key)
    .update([subject, merchant, actor, '', '', requestId, deadline, '', payload].join('\n'))
    .digest('base64url');

async function send({ subject, merchant, actor, requestId, deadline, payload }: Command, signature?: string) {
  const sent = headers();
  sent.append('Recur-Merchant', merchant);
  sent.append('Recur-Actor', actor);
  sent.append('Recur-Request-Id', requestId);
  sent.append('Recur-Deadline', deadline);
  if (signature !== undefined) sent.append('Recur-Signature', signature);
  const reply = await nc.request(subject, payload, { headers: sent, timeout: 5_000 });
  const told = JSON.parse(reply.string());
  return reply.headers?.get('Recur-Status') === 'ok' ? 'ok' : told.slug;
}

const products = async () => orThrow(await shop.api.post('/merchant/product/list', {})).products.length;

describe('a command from somebody else than the gateway', () => {
  it('is refused by every service, whatever it asks', async () => {
    const refused = services.map(service => ({ ...command(), subject: `cmd.${service}.merchant.get`, payload: '{}' }));
    expect(await Promise.all(refused.map(each => send(each)))).toEqual(services.map(() => 'internal_error'));
    // of the internal ones, those alone that services ask each other are answered to whoever may ask
    const asked = { ...command(), subject: 'cmd.identity.platform.callers', payload: '{}' };
    expect(await send(asked)).toBe('internal_error');
    const state = JSON.stringify({ aggregate: 'product', id: 1 });
    expect(await send({ ...command(), subject: 'cmd.catalog.platform.state', payload: state })).toBe('ok');
  });

  it('learns of copies that services keep, and of the events of webhooks, and of nothing else', async () => {
    const all = { merchantId: 0, after: '' };
    const versions = { aggregateId: '1', from: 1, to: 2 };
    const answers = async (service: string, question: string, input: object) =>
      send({ ...command(), subject: `cmd.${service}.platform.${question}`, payload: JSON.stringify(input) });
    for (const [service, aggregate] of [
      ['identity', 'member'],
      ['identity', 'role'],
      ['identity', 'apikey'],
      ['billing', 'invoice'],

      ['billing', 'payment'],
      ['notification', 'endpoint'],
    ] as const) {
      expect(await answers(service, 'snapshot_by_key', { aggregate, ...all })).toBe('invalid_parameters');
      expect(await answers(service, 'state', { aggregate, id: 1 })).toBe('invalid_parameters');
    }
    expect(await answers('identity', 'snapshot_by_key', { aggregate: 'user', ...all })).toBe('ok');
    expect(await answers('identity', 'events', { aggregate: 'member', ...versions })).toBe('invalid_parameters');
    expect(await answers('billing', 'events', { aggregate: 'invoice', ...versions })).toBe('ok');
  });

  it('is done as it was signed, and with nothing else in it', async () => {
    const before = await products();
    const signed = command();
    const signature = sign(signed, keyOf('catalog'));
    const changes: Partial<Command>[] = [
      { merchant: String(other.merchantId) },
      { merchant: '0' },
      { actor: '{"kind":"system","id":"","display":"system"}' },
      { requestId: 'req_other' },
      { deadline: String(Date.now() + 60_000) },
      { subject: 'cmd.catalog.product.edit' },
      { payload: JSON.stringify({ productName: 'Other', description: '' }) },
    ];
    for (const change of changes) expect(await send({ ...signed, ...change }, signature)).toBe('internal_error');
    for (const forged of ['', 'x', signature.slice(1), `${signature}A`, sign(signed, keyOf('billing'))]) {
      expect(await send(signed, forged)).toBe('internal_error');
    }
    expect(await products()).toBe(before);
    expect(await send(signed, signature)).toBe('ok');
    expect(await products()).toBe(before + 1);
  });

  it('is refused when its time is over', async () => {
    const late = { ...command(), deadline: String(Date.now() - 1) };
    expect(await send(late, sign(late, keyOf('catalog')))).toBe('deadline_exceeded');
  });
});
