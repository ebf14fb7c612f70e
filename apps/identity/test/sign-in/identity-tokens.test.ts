import { createPublicKey } from 'node:crypto';
import { encode } from '@auth/core/jwt';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAuthProvider, oauthLogin, updateOauth } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { Merchants } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';
import { IdentityTokens } from '../../src/sign-in/identity-tokens.js';
import { hmac, type Json, KeyServer, Pair, signed } from '../issuers.js';
import { badTokens, goodClaims, type Scene } from './bad-tokens.js';

// Auth.js reads the machine's clock
const clock = new MovableClock(Date.now());
const pair = new Pair('first');
const scene: Scene = {
  pair,
  issuer: 'https://idp.example.com',
  audience: 'admin-portal',
  now: Math.floor(clock.wall() / 1000),
  email: 'kim@example.com',
  pem: { pair: new Pair('pem'), issuer: 'https://pem.example.com' },
  shared: { secret: 'shared-with-the-provider-32-bytes!', issuer: 'https://shared.example.com' },
  authJs: { secret: 'auth-secret-of-an-application-32b', salt: 'authjs.session-token' },
};
const { issuer, audience, now, email } = scene;
const claims = (more: Json = {}) => ({ ...goodClaims(scene), ...more });

let t: TestService;
let merchantId: number;
let server: KeyServer;
let corpus: [name: string, token: string][];
beforeAll(async () => {
  corpus = Object.entries(await badTokens(scene));
  t = await testService(identity, { clock, env: { OAUTH_ALLOW_LOOPBACK: 'true' } });
  server = await KeyServer.start([pair.jwk]);
  const made = await t.app.get(Merchants).create({ name: 'Acme', email }, 'boot');
  ({ merchantId } = made);
  const providers = [
    { issuer, audience, jwksUrl: server.url },
    { issuer: scene.pem.issuer, audience, publicKey: scene.pem.pair.pem },
    { issuer: scene.shared.issuer, audience, secret: scene.shared.secret },
    { issuer: 'Portal', authJsSecret: scene.authJs.secret },
  ];
  for (const provider of providers) await t.done(newAuthProvider, provider, { merchantId });
  const owner = { merchantId, actor: { kind: 'member', id: String(made.memberId), display: email } } as const;
  await t.done(updateOauth, { email }, { ...owner, sender: sender(pair.token(claims())) });
});
afterAll(async () => {
  await t.close();
  await server.close();
});

const tokens = () => t.app.get(IdentityTokens);
const sender = (identityToken: string) => ({ ip: '192.0.2.1', userAgent: 'Firefox', identityToken });
/** The bytes answered to a token. */
const answerTo = async (token: string, as = email) => {
  const caller = t.callerOf({ merchantId, sender: sender(token) });
  const { ok, bytes } = await t.server.dispatch('auth.oauth_login', JSON.stringify({ email: as }), caller);
  return ok ? 'signed in' : bytes.toString();
};
const refused = '{"slug":"credential_invalid","issues":[]}';

describe('a token that must be refused', () => {
  it('is one of many, each refused with the same bytes and after one verification', async () => {
    expect(corpus.length).toBeGreaterThan(100);
    expect(new Set(corpus.map(([, token]) => token)).size).toBe(corpus.length);
    // the member exists and its identity is linked: only the token can be at fault
    expect(await answerTo(pair.token(claims()))).toBe('signed in');
    for (const [name, token] of corpus) {
      const before = tokens().verifications;
      expect([name, await answerTo(token)]).toEqual([name, refused]);
      expect([name, tokens().verifications - before]).toEqual([name, 1]);
    }
    expect(await answerTo(pair.token(claims()))).toBe('signed in');
  });

  /** Verifiers with one mistake each, all seen in practice. */
  const weak: Record<string, (token: string) => unknown> = {
    'that only decodes': token => decodeJwt(token),
    'that takes the algorithm from the token': token => {
      const { alg = '' } = decodeProtectedHeader(token);
      return jwtVerify(token, alg.startsWith('HS') ? Buffer.from(pair.pem) : pair.publicKey, { algorithms: [alg] });
    },
    'that takes the key from the token': async token => {
      const { jwk } = decodeProtectedHeader(token);
      return jwtVerify(token, jwk ? createPublicKey({ key: jwk as never, format: 'jwk' }) : pair.publicKey);
    },
    'that forgets issuer and audience': token => jwtVerify(token, pair.publicKey, { algorithms: ['RS256'] }),
    'that is content with one audience of several': token =>
      jwtVerify(token, pair.publicKey, { algorithms: ['RS256'], issuer, audience, requiredClaims: ['exp', 'sub'] }),
  };

  it.each(Object.entries(weak))('would be taken by a verifier %s', async (_, verify) => {
    const taken: string[] = [];
    for (const [name, token] of corpus) {
      const isTaken = await Promise.resolve()
        .then(() => verify(token))
        .then(
          () => true,
          () => false,
        );
      if (isTaken) taken.push(name);
    }
    expect(taken).not.toEqual([]);
  });
});

describe('a token that holds', () => {
  it.each<[string, Json, Json]>([
    ['as OIDC says', {}, {}],
    ['with a typ', {}, { typ: 'jwt' }],
    ['with the digest of a certificate', {}, { x5t: 'abc' }],
    ['for us alone, in a list', { aud: [audience] }, {}],
    ['with an e-mail in other case', { email: 'Kim@EXAMPLE.com' }, {}],
    ['of a provider that does not say whether e-mails are verified', { email_verified: undefined }, {}],
    ['that expired within the leeway', { exp: now - 59 }, {}],
    ['that begins within the leeway', { nbf: now + 59, iat: now + 59 }, {}],
    ['without a kid, where there is one key', {}, { kid: undefined }],
  ])('%s', async (_, more, header) => {
    expect(await answerTo(pair.token(claims(more), header))).toBe('signed in');
  });

  const linkedElsewhere = async (token: string) => {
    const found = await tokens().verify(await trusted(), token, email);
    return found && { issuer: found.issuer, subject: found.subject, provider: found.provider };
  };
  const trusted = async () => {
    const { SentIdentity } = await import('../../src/sign-in/sent-identity.js');
    return t.db.read(t.callerOf({ merchantId }), reader => t.app.get(SentIdentity).trusted(reader));
  };

  it('may be verified by a PEM, by a shared secret or by Auth.js itself', async () => {
    const { pem, shared, authJs } = scene;
    expect(await linkedElsewhere(pem.pair.token(claims({ iss: pem.issuer })))).toMatchObject({ issuer: pem.issuer });
    const hs = signed({ alg: 'HS256' }, claims({ iss: shared.issuer }), hmac(shared.secret));
    expect(await linkedElsewhere(hs)).toMatchObject({ issuer: shared.issuer, subject: 'subject-1' });
    const session = await encode({ token: { sub: 'user-7', email, name: 'Kim', picture: 'p' }, ...authJs });
    expect(await tokens().verify(await trusted(), session, email)).toEqual({
      issuer: 'Portal',
      provider: 'Portal',
      subject: 'user-7',
      email,
      emailVerified: false,
      name: 'Kim',
      image: 'p',
      source: expect.objectContaining({ issuer: 'Portal', isDeployments: false }),
    });
  });

  it('without a kid is refused where several keys fit', async () => {
    const second = new Pair('second');
    server.keys = [pair.jwk, second.jwk];
    clock.advance(31);
    expect(await answerTo(pair.token(claims(), { kid: 'second-to-come' }))).toBe(refused);
    expect(await answerTo(pair.token(claims(), { kid: undefined }))).toBe(refused);
    expect(await answerTo(pair.token(claims()))).toBe('signed in');
  });
});

it('a provider of the deployment is trusted by every merchant, after its own', async () => {
  const usual = new Pair('usual');
  const OAUTH_PROVIDER = JSON.stringify({ issuer, audience, publicKey: usual.pem });
  const other = await testService(identity, { clock, env: { OAUTH_PROVIDER } });
  try {
    const made = await other.app.get(Merchants).create({ name: 'Other', email }, 'boot');
    const login = (token: string) =>
      other.call(oauthLogin, { email }, { merchantId: made.merchantId, sender: sender(token) });
    expect(await login(usual.token(claims()))).toMatchObject({ ok: true });
    await other.done(newAuthProvider, { issuer, audience, publicKey: pair.pem }, { merchantId: made.merchantId });
    expect(await login(usual.token(claims()))).toMatchObject({ slug: 'credential_invalid' });
    // its own provider does not link the owner by e-mail, and the link of the other key has ended
    expect(await login(pair.token(claims()))).toMatchObject({ slug: 'credential_invalid' });
    const actor = { kind: 'member', id: String(made.memberId), display: email } as const;
    const as = { merchantId: made.merchantId, actor, sender: sender(pair.token(claims())) };
    expect(await other.call(updateOauth, { email }, as)).toMatchObject({ ok: true });
    expect(await login(pair.token(claims()))).toMatchObject({ ok: true });
  } finally {
    await other.close();
  }
});
