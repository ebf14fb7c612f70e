import { sign } from 'node:crypto';
import { encode } from '@auth/core/jwt';
import { EncryptJWT, generateKeyPair, SignJWT } from 'jose';
import { hmac, type Json, Pair, signed } from '../issuers.js';

/** The issuer, audience, time (unix seconds) and subject of the tokens. */
export interface Scene {
  pair: Pair;
  issuer: string;
  audience: string;
  now: number;
  email: string;
  /** A second provider, whose key is a PEM; a third, with a shared secret; and Auth.js. */
  pem: { pair: Pair; issuer: string };
  shared: { secret: string; issuer: string };
  authJs: { secret: string; salt: string };
}

/** The claims of a valid token. */
export const goodClaims = ({ issuer, audience, now, email }: Scene): Json => ({
  iss: issuer,
  aud: audience,
  sub: 'subject-1',
  email,
  email_verified: true,
  iat: now,
  exp: now + 300,
});

type Corpus = Record<string, string>;

/** Tokens to refuse, by the one reason of each. */
export async function badTokens(scene: Scene): Promise<Corpus> {
  return {
    ...malformed(scene),
    ...algorithms(scene),
    ...(await keys(scene)),
    ...headers(scene),
    ...claims(scene),
    ...otherProviders(scene),
    ...(await authJs(scene)),
  };
}

function malformed({ pair, ...scene }: Scene): Corpus {
  const good = pair.token(goodClaims({ pair, ...scene }));
  const [header = '', payload = '', signature = ''] = good.split('.');
  const other = pair.token({ ...goodClaims({ pair, ...scene }), sub: 'other' }).split('.')[2];
  const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
  const email = JSON.stringify(scene.email);
  const claimsText = JSON.stringify(goodClaims({ pair, ...scene })).slice(0, -1);
  return {
    'not a token': 'x',
    'two parts': 'a.b',
    'three parts of nothing': '..',
    'three parts of rubbish': 'a.b.c',
    'four parts': `${good}.x`,
    'six parts': `${good}.x.y.z`,
    'a space within': `${header}. ${payload}.${signature}`,
    'padding of base64': `${good}==`,
    'no signature': `${header}.${payload}.`,
    'a signature with one byte changed': `${header}.${payload}.${flipped}`,
    'a signature cut short': `${header}.${payload}.${signature.slice(0, 100)}`,
    'the signature of another token': `${header}.${payload}.${other}`,
    'claims changed after signing': `${header}.${Buffer.from(`${claimsText},"x":1}`).toString('base64url')}.${signature}`,
    'claims that are a list': pair.token('[]'),
    'claims that are no JSON': pair.token('{'),
    'claims that are no UTF-8': pair.token(Buffer.from(`${claimsText},"name":"\u00ff"}`, 'latin1')),
    'a claim twice': pair.token(`${claimsText},"email":${email}}`),
    'a claim twice, once escaped': pair.token(`${claimsText},"\\u0065mail":${email}}`),
    'an audience twice': pair.token(`${claimsText},"aud":"other"}`),
    'a header parameter twice': pair.token(`${claimsText}}`, `{"alg":"none","alg":"RS256","kid":"${pair.kid}"}`),
  };
}

function algorithms({ pair, ...scene }: Scene): Corpus {
  const good = goodClaims({ pair, ...scene });
  const { kid, pem, jwk } = pair;
  const unsigned = () => Buffer.alloc(0);
  const hs = (secret: string | Buffer, hash?: string) =>
    signed({ alg: `HS${hash?.slice(3) ?? 256}`, kid }, good, hmac(secret, hash));
  return {
    'alg none': signed({ alg: 'none', kid }, good, unsigned),
    'alg None': signed({ alg: 'None', kid }, good, unsigned),
    'alg NONE with a signature': pair.token(good, { alg: 'NONE' }),
    'no alg': pair.token(good, { alg: undefined }),
    'an alg that is a number': pair.token(good, { alg: 256 }),
    'an alg that is a list': pair.token(good, { alg: ['RS256'] }),
    'HS256 with the public key as PEM': hs(pem),
    'HS256 with the public key as PEM, trimmed': hs(pem.trim()),
    'HS256 with the public key as JWK': hs(JSON.stringify(jwk)),
    'HS256 with the modulus': hs(Buffer.from(String(jwk.n), 'base64url')),
    'HS384 with the public key': hs(pem, 'sha384'),
    'HS256 with an empty secret': hs(''),
    'RS512 of the right key': signed({ alg: 'RS512', kid }, good, data => sign('sha512', data, pair.privateKey)),
    'PS256 of the right key': signed({ alg: 'PS256', kid }, good, data =>
      sign('sha256', data, { key: pair.privateKey, padding: 6, saltLength: 32 }),
    ),
  };
}

async function keys({ pair, ...scene }: Scene): Promise<Corpus> {
  const good = goodClaims({ pair, ...scene });
  const thief = new Pair(pair.kid);
  const [ec, ed] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('EdDSA')]);
  const by = (alg: string, key: typeof ec) =>
    new SignJWT(good).setProtectedHeader({ alg, kid: pair.kid }).sign(key.privateKey);
  return {
    'another key under a known kid': thief.token(good),
    'an unknown kid': pair.token(good, { kid: 'unknown' }),
    'a kid that is a number': pair.token(good, { kid: 1 }),
    'a kid that is null': pair.token(good, { kid: null }),
    'a kid that is a path': signed({ alg: 'HS256', kid: '../../../dev/null' }, good, hmac('')),
    'a kid that is SQL': pair.token(good, { kid: "' or 1=1 --" }),
    'ES256 of a stranger': await by('ES256', ec),
    'EdDSA of a stranger': await by('EdDSA', ed),
    'its own key, jwk': thief.token(good, { jwk: thief.jwk }),
    'the right key, jwk': pair.token(good, { jwk: pair.jwk }),
    'its own keys, jku': thief.token(good, { jku: 'http://127.0.0.1:9/jwks' }),
    'the right key, jku': pair.token(good, { jku: 'http://127.0.0.1:9/jwks' }),
    'its own certificate, x5u': thief.token(good, { x5u: 'http://127.0.0.1:9/cert' }),
    'the right key, x5u': pair.token(good, { x5u: 'http://127.0.0.1:9/cert' }),
    'its own certificate, x5c': thief.token(good, { x5c: ['MIIB'] }),
  };
}

function headers({ pair, ...scene }: Scene): Corpus {
  const good = goodClaims({ pair, ...scene });
  const of = (header: Json) => pair.token(good, header);
  return {
    'crit of something unknown': of({ crit: ['x'], x: 1 }),
    'crit of nothing': of({ crit: [] }),
    'crit of a claim': of({ crit: ['exp'], exp: 1 }),
    'b64 false': of({ b64: false, crit: ['b64'] }),
    zip: of({ zip: 'DEF' }),
    'typ of an access token': of({ typ: 'at+jwt' }),
    'typ of a member token': of({ typ: 'member+jwt' }),
    'typ of an API key': of({ typ: 'api-key+jwt' }),
    'typ of a logout token': of({ typ: 'logout+jwt' }),
    'a typ that is a number': of({ typ: 1 }),
  };
}

function claims({ pair, ...scene }: Scene): Corpus {
  const { now, issuer, audience, email } = scene;
  const good = goodClaims({ pair, ...scene });
  const of = (changed: Json) => pair.token({ ...good, ...changed });
  const text = JSON.stringify({ ...good, exp: undefined });
  return {
    expired: of({ exp: now - 3600 }),
    'expired a second more than the leeway': of({ exp: now - 61 }),
    'no exp': of({ exp: undefined }),
    'an exp that is a text': of({ exp: String(now + 300) }),
    'an exp that is null': of({ exp: null }),
    'an exp without end': pair.token(`${text.slice(0, -1)},"exp":1e999}`),
    'nbf tomorrow': of({ nbf: now + 86_400 }),
    'nbf a second after the leeway': of({ nbf: now + 61 }),
    'an nbf that is a text': of({ nbf: 'now' }),
    'issued tomorrow': of({ iat: now + 86_400 }),
    'an iat that is a text': of({ iat: 'now' }),
    'another issuer': of({ iss: 'https://other.example.com' }),
    'no issuer': of({ iss: undefined }),
    'an issuer with a slash more': of({ iss: `${issuer}/` }),
    'an issuer that is a list': of({ iss: [issuer] }),
    'another audience': of({ aud: 'other' }),
    'no audience': of({ aud: undefined }),
    'an audience in other case': of({ aud: audience.toUpperCase() }),
    'no audience in a list': of({ aud: [] }),
    'another audience in a list': of({ aud: ['other'] }),
    'our audience and another': of({ aud: [audience, 'other'] }),
    'our audience in a list of lists': of({ aud: [[audience]] }),
    'an audience that is an object': of({ aud: { [audience]: true } }),
    'no subject': of({ sub: undefined }),
    'an empty subject': of({ sub: '' }),
    'a subject that is a number': of({ sub: 1 }),
    'a subject that cannot be stored': of({ sub: 'a\0b' }),
    'half of a character as the subject': of({ sub: '\ud800' }),
    'a subject that is too long': of({ sub: 's'.repeat(256) }),
    'no e-mail': of({ email: undefined }),
    'another e-mail': of({ email: `x${email}` }),
    'an e-mail that is a list': of({ email: [email] }),
    'an e-mail with a letter that only looks the same': of({ email: email.replace('k', '\u212a') }),
    'an unverified e-mail': of({ email_verified: false }),
    'an e-mail verified in words': of({ email_verified: 'true' }),
    'an e-mail verified by 1': of({ email_verified: 1 }),
    'an e-mail of which it is unknown': of({ email_verified: null }),
  };
}

function otherProviders({ pair, pem, shared, ...scene }: Scene): Corpus {
  const good = goodClaims({ pair, pem, shared, ...scene });
  const hs = (claims: Json, secret = shared.secret, hash = 'sha256') =>
    signed({ alg: `HS${hash.slice(3)}` }, claims, hmac(secret, hash));
  const ofShared = { ...good, iss: shared.issuer };
  return {
    'the key of one provider for the issuer of another': pair.token({ ...good, iss: pem.issuer }),
    'the key of the other for the issuer of the one': pem.pair.token(good, { kid: pair.kid }),
    'HS256 with the PEM of a provider': hs({ ...good, iss: pem.issuer }, pem.pair.pem),
    'the shared secret for the issuer of another': hs(good),
    'another shared secret': hs(ofShared, 'y'.repeat(32)),
    'HS512 where HS256 is agreed': hs(ofShared, shared.secret, 'sha512'),
    'RS256 where HS256 is agreed': pair.token(ofShared),
    'of the shared secret, expired': hs({ ...ofShared, exp: scene.now - 100 }),
  };
}

async function authJs({ pair, authJs: { secret, salt }, ...scene }: Scene): Promise<Corpus> {
  const { email } = scene;
  const token = { sub: 'subject-1', email };
  const of = (changed: Json, how: Partial<Parameters<typeof encode>[0]> = {}) =>
    encode({ token: { ...token, ...changed }, secret, salt, ...how });
  const toPublicKey = new EncryptJWT({ ...goodClaims({ pair, authJs: { secret, salt }, ...scene }) })
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM' })
    .encrypt(pair.publicKey);
  const direct = new EncryptJWT(token).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(Buffer.alloc(32, 1));
  const good = await of({});
  return {
    'of Auth.js, another secret': await of({}, { secret: 'z'.repeat(32) }),
    'of Auth.js, another cookie': await of({}, { salt: 'other' }),
    'of Auth.js, expired': await of({}, { maxAge: -3600 }),
    'of Auth.js, another e-mail': await of({ email: 'other@example.com' }),
    'of Auth.js, an unverified e-mail': await of({ email_verified: false }),
    'of Auth.js, no subject': await of({ sub: undefined }),
    'of Auth.js, another issuer': await of({ iss: 'https://other.example.com' }),
    'of Auth.js, another audience': await of({ aud: 'other' }),
    'of Auth.js, altered': `${good.slice(0, -3)}${good.endsWith('AAA') ? 'BBB' : 'AAA'}`,
    'of Auth.js, rubbish': 'a.b.c.d.e',
    'encrypted to the public key of a provider': await toPublicKey,
    'encrypted with a key that everybody has': await direct,
  };
}
