import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { operation } from '@recur/contracts';
import { MovableClock } from '@recur/platform/testing';
import { z } from 'zod';
import { Services, signingKey, TestGateway, TestNats, write } from '../stand.js';

const names = ['X-First-Token', 'X-Second-Token'];
const base = {
  service: 'billing',
  methods: ['POST'],
  effect: 'write',
  permission: 'invoice.write',
  errors: [],
  summary: 'A sample',
  input: z.object({ email: z.string() }),
  output: z.object({}),
} as const;
const login = operation({
  ...base,
  name: 'sample.login',
  path: '/merchant/sample/login',
  anonymous: true,
  signIn: true,
});
const show = operation({
  ...base,
  name: 'sample.show',
  path: '/merchant/sample/show',
  oneOfHeaders: names,
  signIn: true,
});
const link = operation({ ...base, name: 'sample.link', path: '/merchant/sample/link', oneOfHeaders: names });

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let key: string;
const clock = new MovableClock(Date.now());
const email = 'kim@example.com';

beforeAll(async () => {
  nats = await TestNats.start();
  const signer = await signingKey('k1');
  services = await Services.start(nats.url, [signer.jwk]);
  gateway = await TestGateway.start(nats.url, {
    operations: [login, show, link, write],
    env: { TRUST_PROXY: 'true' },
    clock,
  });
  await gateway.ready();
  key = await signer.sign();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});
beforeEach(() => {
  services.asked.length = 0;
  // every bucket is full again
  clock.advance(60);
});

const post = (path: string, headers: Record<string, string | string[]> = {}, { as = key, body = { email } } = {}) =>
  gateway.send(path, {
    method: 'POST',
    key: as === '' ? undefined : as,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const senderSeen = () => services.asked.at(-1)?.caller.sender;

describe('an identity token', () => {
  it('is passed on with the address and the user agent, whatever stands in it', async () => {
    for (const token of ['a.b.c', 'x', '%E2 "\\', '{"a":1}', 'y'.repeat(8_000)]) {
      const headers = { 'x-second-token': token, 'user-agent': 'Firefox' };
      expect(await post(show.path, { ...headers, 'x-forwarded-for': '192.0.2.7' })).toMatchObject({ status: 200 });
      expect(senderSeen()).toEqual({
        ip: '192.0.2.7',
        userAgent: 'Firefox',
        identityToken: token,
      });
    }
  });

  it.each<[string, Record<string, string | string[]>]>([
    ['none', {}],
    ['a blank one', { 'x-first-token': '' }],
    ['one in each of two headers', { 'x-first-token': 'a', 'x-second-token': 'a' }],
    ['two in one header', { 'x-first-token': ['a', 'a'] }],
    ['one in another header', { 'x-third-token': 'a' }],
  ])('is needed once: %s is refused, and asks nobody', async (_, headers) => {
    for (const { path } of [show, link]) {
      const answer = await post(path, headers);
      expect(answer).toMatchObject({ status: 400, json: { code: 51, error: { type: 'invalid_parameters' } } });
      expect(answer.json.error?.issues).toEqual([
        { path: names.join(), message: expect.stringContaining('Exactly one of the headers X-First-Token') },
      ]);
    }
    expect(services.asked).toEqual([]);
  });

  it('does not replace the credential', async () => {
    expect(await post(show.path, { 'x-first-token': 'a' }, { as: '' })).toMatchObject({ status: 401 });
  });

  it('and who sends it are nobody else’s business', async () => {
    expect(await gateway.post(write.path, { amount: 1 }, key, { 'x-first-token': 'a' })).toMatchObject({ status: 200 });
    expect(services.asked.at(-1)?.caller.sender).toBeUndefined();
  });
});

describe('what needs no credential', () => {
  it('is asked by nobody, whatever stands in Authorization', async () => {
    for (const as of ['', 'rubbish', key]) {
      expect(await post(login.path, {}, { as })).toMatchObject({ status: 200, json: { merchantId: 0 } });
      expect(services.asked.at(-1)?.caller).toMatchObject({
        merchantId: 0,
        actor: { kind: 'system', display: 'nobody' },
        sender: { ip: '127.0.0.1' },
      });
      expect(senderSeen()).not.toHaveProperty('identityToken');
    }
  });

  it('is counted by address as well, like a credential that is not known yet', async () => {
    const { headers } = await post(login.path, {}, { as: '', body: {} as never });
    expect(headers['ratelimit-limit']).toBe('2000');
  });
});

describe('signing in', () => {
  it('is tried ten times a minute with an e-mail from one address', async () => {
    const attempt = (who: string, from = '192.0.2.1', path: string = login.path) =>
      post(path, { 'x-forwarded-for': from, 'x-first-token': 'a' }, { body: { email: who } });
    for (let left = 9; left >= 0; left--) {
      const answer = await attempt(
        left % 2 ? ` KIM@example.com` : email,
        '192.0.2.1',
        left % 3 ? login.path : show.path,
      );
      expect(answer).toMatchObject({
        status: 200,
        headers: { 'ratelimit-limit': '10', 'ratelimit-remaining': String(left) },
      });
    }
    const refused = await attempt(email);
    expect(refused).toMatchObject({ status: 429, json: { code: 55, error: { type: 'rate_limited' } } });
    expect(refused.headers).toMatchObject({ 'retry-after': '6', 'ratelimit-remaining': '0', 'ratelimit-reset': '60' });
    expect(services.asked).toHaveLength(10);
    expect(await attempt('other@example.com')).toMatchObject({ status: 200 });
    expect(await attempt(email, '192.0.2.2')).toMatchObject({ status: 200 });
    expect(await attempt(email, '192.0.2.1', link.path)).toMatchObject({ status: 200 });
    clock.advance(6);
    expect(await attempt(email)).toMatchObject({ status: 200 });
    expect(await attempt(email)).toMatchObject({ status: 429 });
  });

  it('is not tried by what is no input', async () => {
    for (let at = 0; at < 12; at++) {
      const answer = await post(login.path, {}, { as: '', body: { email: 1 } as never });
      expect(answer).toMatchObject({ status: 400 });
    }
    expect(await post(login.path, {}, { as: '' })).toMatchObject({ headers: { 'ratelimit-remaining': '9' } });
  });
});

describe('a flood of sign-ins', () => {
  const attempt = (who: string, from: string) =>
    post(login.path, { 'x-forwarded-for': from }, { as: '', body: { email: who } });
  const refusedAs = (answers: { status: number }[]) => answers.filter(({ status }) => status === 429).length;

  it('with other e-mails from one address is refused before a service is asked; others sign in meanwhile', async () => {
    const flood = Array.from({ length: 100 }, (_, at) => attempt(`guess-${at}@example.com`, '192.0.2.9'));
    const right = await Promise.all(
      Array.from({ length: 15 }, (_, at) => attempt(`right-${at}@example.com`, `198.51.100.${at}`)),
    );
    expect(right.map(({ status }) => status)).toEqual(Array(15).fill(200));
    const answers = await Promise.all(flood);
    expect(refusedAs(answers)).toBe(70);
    for (const { status, headers, json } of answers.filter(({ status }) => status === 429)) {
      expect({ status, ...headers }).toMatchObject({ 'ratelimit-limit': '30', 'retry-after': '2' });
      expect(json.code).toBe(55);
    }
    expect(services.asked).toHaveLength(45);
  });

  it('from the addresses of one /64 is the flood of one', async () => {
    const answers = [];
    for (let at = 0; at < 60; at++) answers.push(await attempt(`g${at}@example.com`, `2001:db8:1:2:${at}::1`));
    expect(refusedAs(answers)).toBe(30);
    expect(await attempt('g@example.com', '2001:db8:1:3::1')).toMatchObject({ status: 200 });
  });

  it('with one e-mail from many addresses has to wait', async () => {
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, at) => attempt('target@example.com', `203.0.113.${at}`)),
    );
    expect(refusedAs(answers)).toBe(100);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers['retry-after']).toBe('1');
    clock.advance(1);
    expect(await attempt('target@example.com', '203.0.113.200')).toMatchObject({ status: 200 });
  });
});
