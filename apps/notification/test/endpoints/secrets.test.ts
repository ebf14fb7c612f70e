import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AutomationAnswer,
  type AutomationRequest,
  automationOauthUrl,
  emptyOf,
  events,
  listEndpointLogs,
  listEndpoints,
  rotateSecret,
  testEvent,
} from '@recur/contracts';
import { Redis } from 'ioredis';
import { Hooks } from '../../src/automation/hooks.js';
import { DeliveryWaker } from '../../src/deliveries/sending/delivery-waker.js';
import { makeStand } from '../stand.js';

const stand = await makeStand();
const { t, clock, url, received, receiver, merchant, answerWith, newOne, event, deliver } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

describe('an endpoint that keeps failing', () => {
  it('is announced, and announced to be disabled, each once', async () => {
    const { endpointId } = await newOne();
    await t.emitted();
    answerWith(500);
    const announced: [string, number][] = [];
    for (let hour = 0; hour <= 120; hour += 6) {
      await t.deliver('billing', [event()]);
      await deliver(endpointId);
      for (const { type, data } of await t.emitted()) {
        if (type !== 'operation.logged') announced.push([type, hour]);
        if (type in events) events[type as keyof typeof events].data.parse(data);
      }
      clock.advance(6 * 3_600);
    }
    const names = announced.map(([type]) => type);
    expect(names).toEqual(['webhook.endpoint.failing', 'webhook.endpoint.disabled']);
    expect(announced[0]?.[1]).toBeGreaterThanOrEqual(60);
    expect(announced[1]?.[1]).toBe(120);
  });
});

describe('secrets', () => {
  it('stand in no table, answer, event, webhook or key of Redis', async () => {
    const canaries = await useAll();
    const written: string[] = [];
    const tables = await t.rows(`select table_name from information_schema.tables where table_schema = 'public'`);
    for (const { table_name } of tables)
      written.push(JSON.stringify(await t.rows(`select t::text as row from "${table_name}" t`)));
    const redis = new Redis(process.env.TEST_REDIS_URL ?? '');
    for (const key of await redis.keys('*')) {
      const dumped = (await redis.type(key)) === 'none' ? null : await redis.dumpBuffer(key);
      written.push(key, dumped?.toString('latin1') ?? '');
    }
    redis.disconnect();
    written.push(JSON.stringify(received), JSON.stringify(await t.emitted()));
    for (const list of [listEndpoints, listEndpointLogs]) {
      for (const { id } of (await t.done(listEndpoints, {}, merchant)).endpointList) {
        written.push(JSON.stringify(await t.done(list, { endpointId: id }, merchant)));
      }
    }
    const all = written.join('\n');
    expect(all.includes('in_canary')).toBe(true);
    expect(canaries).toHaveLength(8);
    expect(canaries.filter(canary => all.includes(canary) || all.includes(encodeURIComponent(canary)))).toEqual([]);
  });

  /** Everything that makes or uses a secret; answers the secret parts. */
  async function useAll(): Promise<string[]> {
    const waker = t.app.get(DeliveryWaker);
    waker.start();
    const ask = (request: object): Promise<AutomationAnswer> =>
      t.app.get(Hooks).answer(request as AutomationRequest, t.callerOf({ merchantId: 0 }));
    const { endpointId, secret } = await newOne();
    const rotated = await t.done(rotateSecret, { endpointId }, { ...merchant, idempotencyKey: 'a rotation' });
    const heard = new Promise(resolve =>
      receiver.server.once('request', (_, response) => response.once('finish', resolve)),
    );
    await t.done(testEvent, { endpointId, event: 'invoice.paid' }, merchant);
    await heard;
    const asked = await t.done(automationOauthUrl, { returnUrl: url }, { ...merchant, idempotencyKey: 'a connection' });
    const fields = Object.fromEntries(new URL(asked.oauthUrl).searchParams);
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const decided = await ask({
      step: 'decide',
      fields: { ...fields, code_challenge: challenge, code_challenge_method: 'S256', allowed: 'true' },
    });
    const code = decided.kind === 'redirect' ? (new URL(decided.location).searchParams.get('code') ?? '') : '';
    const given = { client_id: fields.client_id, redirect_uri: url, code_verifier: verifier };
    const answer = await ask({ step: 'token', fields: { ...given, grant_type: 'authorization_code', code } });
    const tokens = (answer as unknown as { body: { access_token: string; refresh_token: string } }).body;
    const input = { url, events: ['invoice.created'] };
    const hook = await ask({ step: 'subscribe', token: tokens.access_token, input });
    const hookSecret = (hook as unknown as { data: { secret: string } }).data.secret;
    await t.deliver('billing', [
      event({ data: { ...emptyOf(events['invoice.created'].data), invoiceId: 'in_canary' } }),
    ]);
    await waker.stop();
    const secretPart = (token: string) => token.split('.')[1] ?? '';
    return [
      ...[secret, rotated.secret, hookSecret].map(one => one.slice('whsec_'.length)),
      ...[code, tokens.access_token, tokens.refresh_token].map(secretPart),
      fields.state ?? '',
      verifier,
    ];
  }
});
