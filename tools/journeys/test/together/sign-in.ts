import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { encode } from '@auth/core/jwt';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, createClient, orThrow } from '@recur/client';
import { generateSync } from 'otplib';
import { LocalIssuer } from '../../issuer.js';
import { type Answer, Wire } from '../../wire.js';
import { expectFailure, type Stand, sharedStand, until, withoutRequestId } from '../stand.js';

const aud = 'portal';
const authJsSecret = randomUUID();
const salt = 'authjs.session-token';

let stand: Stand;
let issuer: LocalIssuer;
let api: Client;
let wire: Wire;
let owner: string;
let roleId: number;
/** Whatever nobody else may ever read. */
const secrets: string[] = [authJsSecret];
/** Codes that came by e-mail; eight digits may be part of any longer number. */
const mailed: string[] = [];

beforeAll(async () => {
  [stand, issuer] = await Promise.all([sharedStand(), LocalIssuer.start()]);
  const { apiKey, memberId } = await stand.stack.merchant('Portal');
  [api, wire] = [as(apiKey), wireAs(apiKey)];
  owner = String((await stand.ask('identity', `select email from members where id = ${memberId}`))[0]?.email);
  const permissions = [
    { group: 'user' as const, permissions: ['read' as const] },
    { group: 'my-account' as const, permissions: ['read' as const, 'write' as const] },
  ];
  const role = { role: 'Support', permissions };
  ({
    merchantRole: { id: roleId },
  } = orThrow(await api.post('/merchant/role/new', role)));
  orThrow(
    await api.post('/merchant/auth/provider/new', { issuer: issuer.issuer, audience: aud, jwksUrl: issuer.jwksUrl }),
  );
  orThrow(await api.post('/merchant/auth/provider/new', { issuer: 'Portal', authJsSecret }));
});
afterAll(() => issuer.close());

interface SignedIn {
  merchantMember: { id: number; email: string; totpType: number; oauthAccounts: { providerId: string }[] };
  token: string;
}
type Header = 'X-OAuth-Token' | 'X-Auth-Token' | 'X-Auth-JS-Token';

/** Sends a sign-in as a portal does: with the API key and, in a header, the identity token. */
function signIn(what: 'login' | 'setup', header: Header, identityToken: string, body: object): Promise<Answer> {
  secrets.push(identityToken);
  return wire.request(`/merchant/auth/sso/oauth/${what}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', [header]: identityToken },
  });
}

function signedIn({ status, envelope, text }: Answer): SignedIn {
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  const data = envelope.data as unknown as SignedIn;
  secrets.push(data.token);
  return data;
}

const wireAs = (token: string) => new Wire(stand.stack.facts().baseUrl, token);
const as = (token: string) => createClient({ baseUrl: stand.stack.facts().baseUrl, credential: token });
const codeOf = (secret: string, steps = 0) =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 * steps });

async function invite(email: string) {
  const invited = orThrow(await api.post('/merchant/member/new_member', { email, roleIds: [roleId] }));
  secrets.push(invited.setupToken);
  return invited;
}

const kinds: [string, Header, (email: string) => Promise<string>][] = [
  ['an OIDC provider', 'X-OAuth-Token', email => issuer.token({ sub: `oidc ${email}`, email, aud })],
  [
    'Auth.js',
    'X-Auth-JS-Token',
    email => encode({ token: { sub: `authjs ${email}`, email, name: 'Kim' }, secret: authJsSecret, salt }),
  ],
];

describe.each(kinds)('with identity tokens of %s', (_, header, tokenOf) => {
  it('a member is invited, set up, asked for codes, let in and suspended', async () => {
    const email = `kim-${randomUUID()}@example.com`;
    const { memberId, setupToken } = await invite(email);
    const identityToken = await tokenOf(email);
    expectFailure(await signIn('login', header, identityToken, { email }), 401, 61, 'credential_invalid');
    const setUp = signedIn(await signIn('setup', header, identityToken, { email, setupToken }));
    expect(setUp.merchantMember).toMatchObject({
      id: memberId,
      email,
      oauthAccounts: [{ providerId: expect.any(String) }],
    });

    const own = as(setUp.token);
    const { totpKey } = orThrow(await own.post('/merchant/member/get_totp_key', {}));
    const on = orThrow(await own.post('/merchant/member/confirm_totp_key', { totpCode: codeOf(totpKey) }));
    secrets.push(totpKey, ...on.recoveryCodes);
    const login = async (totpCode?: string) =>
      signIn('login', header, await tokenOf(email), { email, ...(totpCode && { totpCode }) });
    expectFailure(await login(), 400, 49, 'totp_required');
    const { token, merchantMember } = signedIn(await login(codeOf(totpKey, 1)));
    expect(merchantMember).toMatchObject({ id: memberId, totpType: 1 });

    const member = as(token);
    expect(orThrow(await member.get('/merchant/member/profile', {}))).toMatchObject({
      merchantMember: { id: memberId, email },
    });
    expect(orThrow(await member.get('/merchant/user/count', {}))).toEqual({ total: 0 });
    expectFailure(await wireAs(token).request('/merchant/plan/list'), 403, 63, 'permission_denied');

    orThrow(await api.post('/merchant/member/suspend_member', { memberId }));
    const suspended = Date.now();
    const refused = await until(
      () => wireAs(token).request('/merchant/member/profile'),
      ({ status }) => status === 401,
    );
    expectFailure(refused, 401, 61, 'credential_invalid');
    expect(Date.now() - suspended).toBeLessThan(5_000);
    expectFailure(await login(codeOf(totpKey)), 401, 61, 'credential_invalid');
    orThrow(await api.post('/merchant/member/resume_member', { memberId }));
    signedIn(await login(on.recoveryCodes[0]));
  });
});

describe('the owner', () => {
  it('is linked with a setup token, not by e-mail, and signs in after the provider has rotated its keys', async () => {
    const identityToken = () => issuer.token({ sub: 'owner', email: owner, aud });
    const byEmail = await signIn('login', 'X-Auth-Token', await identityToken(), { email: owner });
    expectFailure(byEmail, 401, 61, 'credential_invalid');
    const { setupToken } = await invite(owner);
    const body = { email: owner, setupToken };
    const first = signedIn(await signIn('setup', 'X-Auth-Token', await identityToken(), body));
    expect(first.merchantMember).toMatchObject({ email: owner, oauthAccounts: [{ providerId: 'owner' }] });
    await issuer.rotate();
    const { token } = signedIn(await signIn('login', 'X-Auth-Token', await identityToken(), { email: owner }));
    expect(orThrow(await as(token).get('/merchant/plan/list', {}))).toMatchObject({ total: 0 });
  });

  it('of one merchant is nobody at another', async () => {
    const { apiKey } = await stand.stack.merchant('Other');
    const other = as(apiKey);
    orThrow(
      await other.post('/merchant/auth/provider/new', {
        issuer: issuer.issuer,
        audience: aud,
        jwksUrl: issuer.jwksUrl,
      }),
    );
    const answer = await wireAs(apiKey).request('/merchant/auth/sso/oauth/login', {
      method: 'POST',
      body: JSON.stringify({ email: owner }),
      headers: {
        'content-type': 'application/json',
        'X-OAuth-Token': await issuer.token({ sub: 'owner', email: owner, aud }),
      },
    });
    expectFailure(answer, 401, 61, 'credential_invalid');
  });
});

describe('a password', () => {
  it('is set with the setup token and signs in, both without an API key', async () => {
    const email = `ada-${randomUUID()}@example.com`;
    const newPassword = `pass-${randomUUID()}`;
    const { setupToken, memberId } = await invite(email);
    secrets.push(newPassword);
    const anybody = wireAs('');
    const setUp = signedIn(await anybody.send('/merchant/auth/sso/passwordSetup', { email, setupToken, newPassword }));
    expect(setUp.merchantMember).toMatchObject({ id: memberId });
    const entered = signedIn(await anybody.send('/merchant/auth/sso/login', { email, password: newPassword }));
    expect(orThrow(await as(entered.token).get('/merchant/member/profile', {}))).toMatchObject({
      merchantMember: { id: memberId },
    });
    const wrong = await anybody.send('/merchant/auth/sso/login', { email, password: 'another one' });
    const unknown = await anybody.send('/merchant/auth/sso/login', { email: 'x@example.com', password: newPassword });
    for (const answer of [wrong, unknown]) expectFailure(answer, 401, 61, 'credential_invalid');
  });
});

describe('a code by e-mail', () => {
  /** The codes in the e-mails to an address, once there are so many. */
  const codesTo = (email: string, count: number) =>
    until(
      async () =>
        readdirSync(stand.mailFolder)
          .map(name => readFileSync(path.join(stand.mailFolder, name), 'utf8').replaceAll('=\r\n', ''))
          .filter(mail => mail.includes(`To: ${email}`))
          .flatMap(mail => /is:\s+(\d{8})\s/.exec(mail)?.[1] ?? []),
      codes => codes.length >= count,
    );

  it('sets the first password of an invited member, and signs it in; unknown addresses are answered alike', async () => {
    const email = `grace-${randomUUID()}@example.com`;
    const { memberId } = await invite(email);
    const newPassword = `pass-${randomUUID()}`;
    for (const what of ['loginOTP', 'passwordForgetOTP']) {
      const [known, unknown] = await Promise.all(
        [email, 'nobody@example.com'].map(one => wireAs('').send(`/merchant/auth/sso/${what}`, { email: one })),
      );
      expect(known?.envelope).toMatchObject({ code: 0, data: {} });
      expect(withoutRequestId(known as Answer)).toBe(withoutRequestId(unknown as Answer));
    }
    // she has no password yet, so only the one for a password comes
    const [verificationCode = ''] = await codesTo(email, 1);
    const guess = await wireAs('').send('/merchant/auth/sso/loginOTPVerify', { email, verificationCode });
    expectFailure(guess, 401, 61, 'credential_invalid');
    const body = { email, verificationCode, newPassword };
    const set = await wireAs('').send('/merchant/auth/sso/passwordForgetOTPVerify', body);
    expect(set.envelope).toMatchObject({ code: 0, data: {} });
    await wireAs('').send('/merchant/auth/sso/loginOTP', { email });
    const codes = await codesTo(email, 2);
    secrets.push(newPassword);
    mailed.push(...codes);
    const ofLogin = { email, verificationCode: codes.find(code => code !== verificationCode) };
    const entered = signedIn(await wireAs('').send('/merchant/auth/sso/loginOTPVerify', ofLogin));
    expect(entered.merchantMember).toMatchObject({ id: memberId });
    const mails = readdirSync(stand.mailFolder).map(name => readFileSync(path.join(stand.mailFolder, name), 'utf8'));
    expect(mails.filter(mail => mail.includes('nobody@'))).toEqual([]);
  });
});

it('no secret of all that stands in a log, or in a database in plain text', async () => {
  await stand.quiet();
  expect(secrets.length).toBeGreaterThan(30);
  const { logs } = stand.stack.home;
  const written = readdirSync(logs).map(name => readFileSync(path.join(logs, name), 'utf8'));
  expect(written.join('').length).toBeGreaterThan(1_000);
  const tables = await stand.ask(
    'identity',
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  );
  for (const { name } of tables) {
    written.push(JSON.stringify(await stand.ask('identity', `select t::text from "${name}" t`)));
  }
  const all = written.join('\n');
  expect(secrets.filter(secret => all.includes(secret))).toEqual([]);
  expect(mailed).toHaveLength(2);
  expect(mailed.filter(code => new RegExp(`\\b${code}\\b`).test(all))).toEqual([]);
  expect(all).toContain(owner);
});
