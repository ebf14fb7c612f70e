import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deleteAuthProvider, editAuthProvider, listAuthProviders, newAuthProvider } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { config } from '../../src/config.js';
import { Merchants } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';
import { Pair } from '../issuers.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

const pair = new Pair('a');
const secret = 'a-shared-secret-of-32-characters';
const pemOf = (type: 'ec' | 'ed25519' | 'rsa', options: object) => {
  const { publicKey } = generateKeyPairSync(type as 'rsa', options as { modulusLength: number });
  return String(publicKey.export({ type: 'spki', format: 'pem' }));
};
let merchants = 1_000;
/** A merchant without providers. */
const fresh = () => ({ merchantId: ++merchants });
const base = { issuer: 'https://idp.example.com', audience: 'portal' };

describe('a provider', () => {
  it('is made, changed, listed and removed, with a log entry each; its secret is never shown', async () => {
    const as = fresh();
    await t.emitted();
    const { authProvider } = await t.done(newAuthProvider, { ...base, secret }, as);
    expect(authProvider).toEqual({
      id: authProvider.id,
      merchantId: as.merchantId,
      name: base.issuer,
      ...base,
      keySource: 'secret',
      algorithms: ['HS256'],
      jwksUrl: '',
      publicKey: '',
      secret: '••••••••',
      authJsSalt: '',
      createTime: t.clock.now(as.merchantId),
    });
    const authProviderId = authProvider.id;
    await t.done(editAuthProvider, { authProviderId, name: 'Ours' }, as);
    // an edit without a change emits nothing
    await t.done(editAuthProvider, { authProviderId, secret }, as);
    const { authProvider: changed } = await t.done(editAuthProvider, { authProviderId, publicKey: pair.pem }, as);
    expect(changed).toMatchObject({ name: 'Ours', keySource: 'publicKey', algorithms: ['RS256'], secret: '' });
    const jwksUrl = 'https://idp.example.com/jwks';
    const { authProvider: other } = await t.done(newAuthProvider, { issuer: 'second', audience: 'x', jwksUrl }, as);
    expect(await t.done(listAuthProviders, {}, as)).toEqual({ authProviders: [other, changed] });
    expect(await t.done(deleteAuthProvider, { authProviderId }, as)).toEqual({});
    expect(await t.done(listAuthProviders, {}, as)).toEqual({ authProviders: [other] });
    const events = await t.emitted();
    expect(events.map(({ type, data }) => [type, (data as { content?: string }).content])).toEqual([
      ['provider.created', undefined],
      ['operation.logged', 'New'],
      ['provider.updated', undefined],
      ['operation.logged', 'Edit'],
      ['provider.updated', undefined],
      ['operation.logged', 'Edit'],
      ['provider.created', undefined],
      ['operation.logged', 'New'],
      ['provider.deleted', undefined],
      ['operation.logged', 'Delete'],
    ]);
    expect(JSON.stringify(events)).not.toContain(secret);
    expect(JSON.stringify(await t.rows('select t::text from auth_providers t'))).not.toContain(secret);
  });

  it('of another merchant is as one that there is not', async () => {
    const { authProvider } = await t.done(newAuthProvider, { ...base, secret }, fresh());
    const other = fresh();
    for (const authProviderId of [authProvider.id, authProvider.id + 10_000]) {
      for (const operation of [editAuthProvider, deleteAuthProvider]) {
        expect(await t.call(operation, { authProviderId }, other)).toEqual({
          ok: false,
          slug: 'auth_provider_not_found',
          issues: [],
        });
      }
    }
    expect(await t.done(listAuthProviders, {}, other)).toEqual({ authProviders: [] });
  });

  it.each<[string, object, string]>([
    ['no key', base, ''],
    ['two keys', { ...base, secret, publicKey: pair.pem }, ''],
    ['no audience', { issuer: 'x', secret }, ''],
    ['a blank issuer', { issuer: ' ', audience: 'x', secret }, '/issuer'],
    ['an issuer that is too long', { ...base, issuer: 'i'.repeat(256), secret }, '/issuer'],
    ['a short secret', { ...base, secret: 'x'.repeat(31) }, '/secret'],
    ['a short secret of Auth.js', { issuer: 'x', authJsSecret: 'short' }, '/authJsSecret'],
    ['a key that is none', { ...base, publicKey: 'x' }, '/publicKey'],
    [
      'a private key',
      { ...base, publicKey: String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })) },
      '/publicKey',
    ],
    ['a weak key', { ...base, publicKey: pemOf('rsa', { modulusLength: 1024 }) }, '/publicKey'],
    ['a key on a curve of no use', { ...base, publicKey: pemOf('ec', { namedCurve: 'secp256k1' }) }, '/publicKey'],
    ['HS256 with a public key', { ...base, publicKey: pair.pem, algorithms: ['HS256'] }, '/algorithms'],
    ['HS256 with a JWKS', { ...base, jwksUrl: 'https://x.example.com/', algorithms: ['HS256'] }, '/algorithms'],
    ['RS256 with a secret', { ...base, secret, algorithms: ['RS256'] }, '/algorithms'],
    ['no algorithm at all', { ...base, secret, algorithms: ['none'] }, '/algorithms/0'],
    ['a JWKS inside', { ...base, jwksUrl: 'http://169.254.169.254/latest' }, '/jwksUrl'],
    ['a JWKS on this machine', { ...base, jwksUrl: 'http://127.0.0.1:9/' }, '/jwksUrl'],
    ['a JWKS that is no URL', { ...base, jwksUrl: 'jwks' }, '/jwksUrl'],
  ])('with %s is refused', async (_, input, path) => {
    const result = await t.call(newAuthProvider, input, fresh());
    expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path }] });
    expect(JSON.stringify(result)).not.toContain(secret);
  });

  it('allows the algorithms that fit its key', async () => {
    const as = fresh();
    const made = async (more: object) =>
      (await t.done(newAuthProvider, { audience: 'x', ...more }, as)).authProvider.algorithms;
    expect(await made({ issuer: '1', publicKey: pemOf('ec', { namedCurve: 'P-256' }) })).toEqual(['ES256']);
    expect(await made({ issuer: '2', publicKey: pemOf('ec', { namedCurve: 'P-384' }) })).toEqual(['ES384']);
    expect(await made({ issuer: '3', publicKey: pemOf('ed25519', {}) })).toEqual(['EdDSA']);
    const asked = ['PS256', 'RS256', 'PS256'];
    expect(await made({ issuer: '4', publicKey: pair.pem, algorithms: asked })).toEqual(['PS256', 'RS256']);
    expect(await made({ issuer: '5', jwksUrl: 'https://x.example.com/' })).toEqual(['RS256']);
    expect(await made({ issuer: '6', authJsSecret: secret })).toEqual([]);
  });

  it('is the only one with its issuer, and of Auth.js there is one, however many come at once', async () => {
    const as = fresh();
    const add = (input: object) => t.call(newAuthProvider, input, as);
    const all = await Promise.all(Array.from({ length: 64 }, () => add({ ...base, secret })));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await add({ ...base, publicKey: pair.pem })).toMatchObject({ issues: [{ path: '/issuer' }] });
    expect(await add({ issuer: 'a', authJsSecret: secret })).toMatchObject({ ok: true });
    expect(await add({ issuer: 'b', authJsSecret: secret })).toMatchObject({ issues: [{ path: '/authJsSecret' }] });
  });

  it('may have as long an issuer as an index can hold, in any script', async () => {
    const result = await t.call(newAuthProvider, { ...base, issuer: '𝕚'.repeat(127), secret }, fresh());
    expect(result).toMatchObject({ ok: true });
  });

  it('is one of twenty at most', async () => {
    const as = fresh();
    for (let at = 0; at < 20; at++) await t.done(newAuthProvider, { ...base, issuer: `i${at}`, secret }, as);
    expect(await t.call(newAuthProvider, { ...base, secret }, as)).toMatchObject({ slug: 'too_many_auth_providers' });
  });

  it('is one of twenty at most, however many come at once', async () => {
    const { merchantId } = await t.app.get(Merchants).create({ name: 'Acme', email: 'ada@example.com' }, 'boot');
    const add = (at: number) => t.call(newAuthProvider, { ...base, issuer: `i${at}`, secret }, { merchantId });
    const all = await Promise.all(Array.from({ length: 32 }, (_, at) => add(at)));
    expect(all.filter(({ ok }) => ok)).toHaveLength(20);
  });
});

describe("the deployment's provider", () => {
  const settings = {
    RECUR_ENV: 'production',
    NATS_URL: 'x',
    DATABASE_URL: 'postgres://x/y',
    SECRET_KEYS: `k:${'A'.repeat(43)}=`,
    CALLER_KEY: `${'A'.repeat(43)}=`,
  };
  const problems = (more: object) =>
    config.safeParse({ ...settings, ...more }).error?.issues.map(({ path, message }) => `${path}: ${message}`) ?? [];

  it('is read from the environment, and what is wrong with it is said without its secret', () => {
    const OAUTH_PROVIDER = JSON.stringify({ ...base, secret });
    expect(config.parse({ ...settings, OAUTH_PROVIDER }).OAUTH_PROVIDER).toMatchObject({ ...base, secret });
    expect(config.parse({ ...settings, OAUTH_PROVIDER: '' }).OAUTH_PROVIDER).toBeUndefined();
    const wrong = [
      '{',
      JSON.stringify({ issuer: 'x', secret }),
      JSON.stringify({ ...base, secret, algorithms: ['RS256'] }),
      JSON.stringify({ ...base, jwksUrl: 'http://idp.example.com/jwks' }),
      JSON.stringify({ ...base, jwksUrl: 'https://127.0.0.1/jwks' }),
    ];
    for (const text of wrong) {
      const found = problems({ OAUTH_PROVIDER: text });
      expect(found).toHaveLength(1);
      expect(found.join()).toMatch(/^OAUTH_PROVIDER: /);
      expect(found.join()).not.toContain(secret);
    }
  });

  it('may not lead to this machine in production', () => {
    expect(problems({ OAUTH_ALLOW_LOOPBACK: 'true' })).toEqual(['OAUTH_ALLOW_LOOPBACK: may not be true in production']);
  });
});
