import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Passwords } from '../../src/passwords/passwords.js';
import { type Merchant, makePortal, type Portal } from '../portal.js';

const password = 'correct horse';
const invalid = { ok: false, slug: 'credential_invalid', issues: [] };

let p: Portal;
let one: Merchant;
let two: Merchant;
let email: string;
beforeAll(async () => {
  p = await makePortal();
});
afterAll(() => p.t.close());
beforeEach(async () => {
  [one, two] = [await p.merchant(), await p.merchant()];
  email = `both-${one.merchantId}@example.com`;
});

const setUp = async ({ merchantId }: Merchant, newPassword: string) => {
  const member = await p.invited(merchantId, email);
  expect(await p.setPassword({ email, setupToken: member.setupToken, newPassword })).toMatchObject({
    ok: true,
    data: { merchantMember: { id: member.memberId, merchantId } },
  });
  return member;
};
const entered = ({ merchantId }: Merchant) => ({ ok: true, data: { merchantMember: { merchantId } } });
const checks = () => p.t.app.get(Passwords).checks;

describe('an e-mail that several merchants have', () => {
  it('signs in where its password fits', async () => {
    await setUp(one, password);
    await setUp(two, 'battery staple');
    expect(await p.login({ email, password })).toMatchObject(entered(one));
    expect(await p.login({ email, password: 'battery staple' })).toMatchObject(entered(two));
    expect(await p.login({ email, password: 'wrong horse' })).toEqual(invalid);
    expect(await p.login({ email, password, merchantId: two.merchantId })).toEqual(invalid);
  });

  it('with one password lists the merchants to choose from, after the password only', async () => {
    await setUp(one, password);
    await setUp(two, password);
    const before = checks();
    expect(await p.login({ email, password })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [
        { path: '/merchantId', message: `${one.merchantId}: Acme` },
        { path: '/merchantId', message: `${two.merchantId}: Acme` },
      ],
    });
    expect(checks() - before).toBe(2);
    expect(await p.login({ email, password: 'wrong horse' })).toEqual(invalid);
    for (const merchant of [one, two]) {
      expect(await p.login({ email, password, merchantId: merchant.merchantId })).toMatchObject(entered(merchant));
    }
    expect(await p.login({ email, password, merchantId: two.merchantId + 1_000 })).toEqual(invalid);
  });

  it('is not held up by a suspended member', async () => {
    await setUp(one, password);
    await p.suspend((await setUp(two, password)).memberId);
    expect(await p.login({ email, password })).toMatchObject(entered(one));
  });

  it('is blocked by no invitation, however many merchants have made one and whether it holds or not', async () => {
    const others = [];
    for (let at = 0; at < 10; at++) others.push(await p.merchant());
    for (const { merchantId } of [one, ...others]) await p.invited(merchantId, email);
    p.clock.advance(72 * 3_600 + 1);
    const member = await p.invited(two.merchantId, email);
    const merchantId = two.merchantId;
    const input = { email, setupToken: member.setupToken, newPassword: password };
    expect(await p.setPassword({ ...input, merchantId })).toMatchObject(entered(two));
    const before = checks();
    expect(await p.login({ email, password })).toMatchObject(entered(two));
    expect(checks() - before).toBe(1);
  });
});
