import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, type JWK } from 'jose';
import { Services, type SigningKey, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let signer: SigningKey;
let key: string;

beforeAll(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const path = '/merchant/sample/read';
const nowSeconds = () => Math.floor(Date.now() / 1000);
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { iss: 'recur', aud: 'recur', sub: '15', jti: 'first', env: 'sandbox' };
const header = { alg: 'EdDSA', typ: 'api-key+jwt', kid: 'k1' };
/** A token whose signature is made by `sign`, or is none. */
const token = (head: unknown, body: unknown, sign: (data: string) => Buffer = () => Buffer.alloc(0)) => {
  const signed = `${part(head)}.${part(body)}`;
  return `${signed}.${sign(signed).toString('base64url')}`;
};

const stranger = generateKeyPairSync('ed25519');
const byStranger = (data: string) => signBytes(null, Buffer.from(data), stranger.privateKey);
const jwkOfStranger = (): Promise<JWK> => exportJWK(stranger.publicKey);
const hmac = (secret: string | Buffer) => (data: string) => createHmac('sha256', secret).update(data).digest();
const flipped = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;

/** What a gateway of a sandbox must refuse, each differing from a valid key in one thing. */
const refused: Record<string, () => Promise<string> | string> = {
  'algorithm none': () => token({ ...header, alg: 'none' }, claims),
  'algorithm None': () => token({ ...header, alg: 'None' }, claims),
  'a valid key without its signature': () => key.replace(/[^.]+$/, ''),
  'HS256 with the x of the public key': () =>
    token({ ...header, alg: 'HS256' }, claims, hmac(Buffer.from(String(signer.jwk.x), 'base64url'))),
  'HS256 with the JWK as text': () => token({ ...header, alg: 'HS256' }, claims, hmac(JSON.stringify(signer.jwk))),
  'HS256 with an empty secret': () => token({ ...header, alg: 'HS256' }, claims, hmac('')),
  'another key under the id of ours': () => token(header, claims, byStranger),
  'an unknown key id': () => signer.sign({}, { kid: 'k2' }),
  'no key id': () => signer.sign({}, { kid: undefined }),
  'a key id that is a path': () => signer.sign({}, { kid: '../../dev/null' }),
  'a key id that is a name of Object': () => token({ ...header, kid: '__proto__' }, claims, byStranger),
  'its own key in jwk': async () => token({ ...header, jwk: await jwkOfStranger() }, claims, byStranger),
  'its own key in jwk, without a kid': async () =>
    token({ alg: 'EdDSA', typ: 'api-key+jwt', jwk: await jwkOfStranger() }, claims, byStranger),
  'jwk beside a valid signature': () => signer.sign({}, { jwk: signer.jwk }),
  'jku beside a valid signature': () => signer.sign({}, { jku: 'https://example.com/keys' }),
  'x5u beside a valid signature': () => signer.sign({}, { x5u: 'https://example.com/key.pem' }),
  'x5c beside a valid signature': () => signer.sign({}, { x5c: ['MIIB'] }),
  'crit of a known parameter': () => token({ ...header, crit: ['exp'], exp: 1 }, claims, byStranger),
  'crit that is empty': () => token({ ...header, crit: [] }, claims, byStranger),
  'b64 beside a valid signature': () => signer.sign({}, { b64: true, crit: ['b64'] }),
  'an expired key': () => signer.sign({ exp: nowSeconds() - 1 }),
  'a key that expires this very second': () => signer.sign({ exp: nowSeconds() }),
  'an exp that is no number': () => signer.sign({ exp: '9999999999' as unknown as number }),
  'a key that is not valid yet': () => signer.sign({ nbf: nowSeconds() + 60 }),
  'a member token': () => signer.sign({}, { typ: 'member+jwt' }),
  'the plain type': () => signer.sign({}, { typ: 'JWT' }),
  'the long form of the type': () => signer.sign({}, { typ: 'application/api-key+jwt' }),
  'the type in capitals': () => signer.sign({}, { typ: 'API-KEY+JWT' }),
  'no type': () => signer.sign({}, { typ: undefined }),
  'a key of production': () => signer.sign({ env: 'production' }),
  'no environment': () => signer.sign({ env: undefined }),
  'another issuer': () => signer.sign({ iss: 'https://example.com' }),
  'no issuer': () => signer.sign({ iss: undefined }),
  'another audience': () => signer.sign({ aud: 'other' }),
  'our audience among others': () => signer.sign({ aud: ['recur', 'other'] }),
  'our audience as a list': () => signer.sign({ aud: ['recur'] }),
  'no audience': () => signer.sign({ aud: undefined }),
  'no merchant': () => signer.sign({ sub: undefined }),
  'merchant 0': () => signer.sign({ sub: '0' }),
  'a merchant that is no integer': () => signer.sign({ sub: '1.5' }),
  'a merchant with a sign': () => signer.sign({ sub: '-15' }),
  'a merchant beyond 2^53': () => signer.sign({ sub: '9007199254740993' }),
  'a merchant as a number': () => signer.sign({ sub: 15 }),
  'no token id': () => signer.sign({ jti: undefined }),
  'an empty token id': () => signer.sign({ jti: '' }),
  'a token id that is no text': () => signer.sign({ jti: 7 }),
  'claims that are a list': () => token(header, [claims], byStranger),
  'a changed header': () => flipped(key, 5),
  'changed claims': () => flipped(key, key.indexOf('.') + 30),
  'a changed signature': () => flipped(key, key.length - 20),
  'claims of another key': async () => {
    const [, other] = (await signer.sign({ sub: '16' })).split('.');
    return [key.split('.')[0], other, key.split('.')[2]].join('.');
  },
  'two parts': () => key.split('.').slice(0, 2).join('.'),
  'four parts': () => `${key}.x`,
  'an encrypted token of five parts': () => `${key}.x.y`,
  'a signature that decodes to the same bytes': () => {
    const last = key.at(-1) as string;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // its low bits are no part of the 64 bytes
    return key.slice(0, -1) + alphabet[alphabet.indexOf(last) + 1];
  },
  'padding in its parts': () => key.replace('.', '=.'),
  'text that is no token': () => 'sk_live_1234567890',
  'no text': () => '',
  'dots only': () => '..',
  'a token that is very long': () => signer.sign({ more: 'x'.repeat(5_000) }),
};

describe('a credential', () => {
  it('of the right kind is the merchant it names', async () => {
    services.asked.length = 0;
    const answer = await gateway.send(path, { key });
    expect(answer).toMatchObject({ status: 200, json: { merchantId: 15 } });
    expect(services.asked[0]?.caller).toMatchObject({ merchantId: 15, actor: { kind: 'key' } });
    expect(services.asked[0]?.caller.actor.display).toMatch(/^key_\.{3}[\w-]{6}$/);
    expect(await gateway.send(path, { key: await signer.sign({ sub: '16', exp: nowSeconds() + 60 }) })).toMatchObject({
      status: 200,
      json: { merchantId: 16 },
    });
    for (const authorization of [`bearer ${key}`, key]) {
      expect((await gateway.send(path, { headers: { authorization } })).status).toBe(200);
    }
  });

  for (const [name, make] of Object.entries(refused)) {
    it(`is refused: ${name}`, async () => {
      services.asked.length = 0;
      for (const attempt of ['first', 'again']) {
        const answer = await gateway.send(path, { key: await make() });
        expect({ attempt, status: answer.status, merchantId: answer.json.merchantId }).toEqual({
          attempt,
          status: 401,
          merchantId: 0,
        });
        expect(answer.json).toMatchObject({
          code: 61,
          message: 'The credential is missing or invalid',
          error: { type: 'credential_invalid', issues: [] },
        });
      }
      expect(services.asked).toEqual([]);
    });
  }

  it('is remembered once, however its header is spelt', async () => {
    const known = await (await TestGateway.start(nats.url, { env: { RATE_PER_SECOND: '1', RATE_BURST: '2' } })).ready();
    // first uses are counted by address, of which two are left
    expect((await known.send(path, { key: await signer.sign({ jti: 'other' }) })).status).toBe(200);
    expect((await known.send(path, { key })).status).toBe(200);
    for (const authorization of [`BEARER ${key}`, `Bearer   ${key}`]) {
      const { status, json } = await known.send(path, { headers: { authorization } });
      expect([200, 429]).toContain(status);
      expect(json.merchantId).toBe(15);
    }
  });

  it('is looked for in the Authorization header only, and once', async () => {
    const attempts: { headers?: Record<string, string | string[]>; path?: string }[] = [
      {},
      { headers: { authorization: `Basic ${key}` } },
      { headers: { authorization: [`Bearer ${key}`, `Bearer ${key}`] } },
      { headers: { 'x-api-key': key } },
      { headers: { cookie: `authorization=Bearer ${key}` } },
      { path: `${path}?access_token=${key}` },
    ];
    for (const { headers = {}, path: at = path } of attempts) {
      expect(await gateway.send(at, { headers })).toMatchObject({ status: 401, json: { code: 61 } });
    }
  });

  it('is asked for before the body is read', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await gateway.send(path, { method: 'POST', headers, body: '{' });
    expect(answer).toMatchObject({ status: 401, json: { code: 61 } });
  });

  it('of a sandbox is refused in production, and the reverse', async () => {
    const production = await (await TestGateway.start(nats.url, { env: { RECUR_ENV: 'production' } })).ready();
    expect(await production.send(path, { key })).toMatchObject({ status: 401, json: { code: 61 } });
    expect((await production.send(path, { key: await signer.sign({ env: 'production' }) })).status).toBe(200);
  });

  it('stops being valid when it expires, even after it was seen', async () => {
    let ahead = 0;
    const clock = { now: () => 0, wall: () => Date.now() + ahead };
    const other = await (await TestGateway.start(nats.url, { clock })).ready();
    const short = await signer.sign({ exp: nowSeconds() + 60 });
    expect((await other.send(path, { key: short })).status).toBe(200);
    ahead = 61_000;
    expect((await other.send(path, { key: short })).status).toBe(401);
  });
});
