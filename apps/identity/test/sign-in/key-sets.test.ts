import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLog, Outbound } from '@recur/platform';
import { MovableClock } from '@recur/platform/testing';
import { IdentityTokens } from '../../src/sign-in/identity-tokens.js';
import { KeySets } from '../../src/sign-in/key-sets.js';
import type { Provider } from '../../src/sign-in/provider-keys.js';
import { type Json, KeyServer, Pair } from '../issuers.js';

const email = 'kim@example.com';
const [old, next, third] = [new Pair('old'), new Pair('next'), new Pair('third')];
let clock: MovableClock;
let server: KeyServer;
let outbound: Outbound;
let tokens: IdentityTokens;
beforeEach(async () => {
  clock = new MovableClock();
  server = await KeyServer.start([old.jwk]);
  outbound = new Outbound({ httpsOnly: false, allowLoopback: true });
  const log = createLog('test', 'silent');
  tokens = new IdentityTokens(new KeySets(outbound, clock, log), clock, log);
});
afterEach(async () => {
  await outbound.close();
  await server.close();
});

const provider = (id = 1): Provider => ({
  merchantId: 15,
  id,
  name: 'idp',
  issuer: 'https://idp.example.com',
  audience: 'portal',
  keySource: 'jwks',

  algorithms: ['RS256'],
  jwksUrl: server.url,
  publicKey: '',
  secret: '',
  authJsSalt: '',
  granted: '*',
  version: 0,
  isDeployments: false,
});
const tokenOf = (pair: Pair, header: Json = {}) => {
  const now = clock.now();
  return pair.token(
    { iss: 'https://idp.example.com', aud: 'portal', sub: '1', email, iat: now, exp: now + 3600 },
    header,
  );
};
const verify = async (pair: Pair, { kid = pair.kid, id = 1 } = {}) =>
  (await tokens.verify([provider(id)], tokenOf(pair, { kid }), email)) !== undefined;
/** Holds the provider's next answers back: `asked` resolves when one is requested, `answer` releases it. */
function hold() {
  let answer = () => {};
  const asked = new Promise<void>(heard => {
    server.before = () =>
      new Promise<void>(resolve => {
        answer = resolve;
        heard();
      });
  });
  return { asked, answer: () => answer() };
}
const many = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));

describe('rotation', () => {
  it('under load refuses no token that holds, and asks for the keys once each time', async () => {
    let signer = old;
    const results: boolean[] = [];
    const worker = async () => {
      for (let round = 0; round < 20; round++) results.push(await verify(signer));
    };
    const load = many(16, worker);
    for (const [at, pair] of [next, third].entries()) {
      while (results.length < (at + 1) * 80) await new Promise(resolve => setImmediate(resolve));
      clock.advance(31);
      // as issuers do: the new key is published first, then used
      server.keys = [...server.keys, pair.jwk];
      signer = pair;
    }
    await Promise.all(load);
    expect(results).toEqual(many(320, () => true));
    expect(server.fetches).toBe(3);
  });

  it('is seen by all who ask while the keys are fetched, and who came for another reason', async () => {
    expect(await verify(old)).toBe(true);
    const { asked, answer } = hold();
    clock.advance(601);
    // the stale keys are fetched in the background, and that answer lacks the new key
    expect(await verify(old)).toBe(true);
    await asked;
    const waiting = many(20, () => verify(next));
    server.before = () => {
      server.keys = [old.jwk, next.jwk];
    };
    answer();
    expect(await Promise.all(waiting)).toEqual(many(20, () => true));
    expect(server.fetches).toBe(3);
  });

  it('takes a key that is gone out of use, when the keys are fetched the next time', async () => {
    server.keys = [old.jwk, next.jwk];
    expect(await verify(old)).toBe(true);
    server.keys = [next.jwk];
    clock.advance(601);
    expect(await verify(next)).toBe(true);
    // a token with an unknown key waits for the keys
    expect(await verify(third)).toBe(false);
    expect(await verify(old)).toBe(false);
  });
});

describe('unknown keys', () => {
  it('make us ask once in 30 s, however many tokens name them', async () => {
    expect(await verify(old)).toBe(true);
    expect(server.fetches).toBe(1);
    const together = await Promise.all(many(48, at => verify(old, { kid: `invented-${at}` })));
    for (let at = 0; at < 20; at++) together.push(await verify(old, { kid: `more-${at}` }));
    expect(together).toEqual(many(68, () => false));
    expect(server.fetches).toBe(2);
    clock.advance(29);
    expect(await verify(old, { kid: 'early' })).toBe(false);
    expect(server.fetches).toBe(2);
    clock.advance(1);
    expect(await verify(old, { kid: 'late' })).toBe(false);
    expect(server.fetches).toBe(3);
    expect(await verify(old)).toBe(true);
  });

  it('of one provider take nothing from another with the same URL', async () => {
    expect(await verify(old, { id: 1 })).toBe(true);
    expect(await verify(old, { kid: 'invented', id: 1 })).toBe(false);
    expect(await verify(old, { id: 2 })).toBe(true);
    server.keys = [old.jwk, next.jwk];
    expect(await verify(next, { id: 2 })).toBe(true);
    expect(await verify(next, { id: 1 })).toBe(false);
  });
});

describe('a provider that is away', () => {
  it('leaves the keys that are known at work, as long as it takes', async () => {
    expect(await verify(old)).toBe(true);
    server.status = 500;
    for (let minutes = 0; minutes < 180; minutes += 9) {
      clock.advance(540);
      expect(await verify(old)).toBe(true);
    }
    expect(server.fetches).toBeGreaterThan(5);
    server.status = 200;
    server.keys = [next.jwk];
    clock.advance(601);
    expect(await verify(next)).toBe(true);
  });

  it('is told from a key that there is not', async () => {
    expect(await verify(old)).toBe(true);
    server.status = 500;
    clock.advance(31);
    for (let at = 0; at < 3; at++) await expect(verify(next)).rejects.toMatchObject({ slug: 'dependency_away' });
    expect(server.fetches).toBe(2);
    expect(await verify(old)).toBe(true);
  });

  it('before any key is known is asked by all at once in one go, and again after 5 s', async () => {
    server.status = 503;
    const all = await Promise.allSettled(many(20, () => verify(old)));
    expect(all.every(({ status }) => status === 'rejected')).toBe(true);
    expect(server.fetches).toBe(1);
    await expect(verify(old)).rejects.toMatchObject({ slug: 'dependency_away' });
    expect(server.fetches).toBe(1);
    server.status = 200;
    clock.advance(5);
    expect(await Promise.all(many(20, () => verify(old)))).toEqual(many(20, () => true));
    expect(server.fetches).toBe(2);
  });

  it('is waited for by a bounded number, the rest are refused at once: commands of others have room', async () => {
    const { asked, answer } = hold();
    const results = many(56, () => verify(old).catch(({ slug }) => slug));
    await asked;
    expect(await Promise.all(results.slice(48))).toEqual(many(8, () => 'overloaded'));
    answer();
    expect(await Promise.all(results.slice(0, 48))).toEqual(many(48, () => true));
  });

  it.each<[string, Json[] | undefined]>([
    ['that is no key set', undefined],
    ['of more than a hundred', many(101, () => old.jwk)],
    ['with something that is no key', [{ kid: 'old' }]],
  ])('is one that answers a set %s', async (_, keys) => {
    server.keys = keys as Json[];
    await expect(verify(old)).rejects.toMatchObject({ slug: 'dependency_away' });
  });
});

it('a secret in a key set verifies nothing, and a key for encryption neither', async () => {
  const secret = { kty: 'oct', k: Buffer.alloc(32).toString('base64url'), kid: 'secret', alg: 'HS256' };
  server.keys = [secret, { ...next.jwk, use: 'enc' }, old.jwk];
  expect(await verify(old)).toBe(true);
  clock.advance(31);
  expect(await verify(next)).toBe(false);
});
