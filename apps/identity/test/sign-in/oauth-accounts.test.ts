import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { clearOauth, updateOauth } from '@recur/contracts';
import { type Merchant, makePortal, type Person, type Portal } from '../portal.js';

let p: Portal;
let owner: Merchant;
beforeAll(async () => {
  p = await makePortal();
});
afterAll(() => p.t.close());
beforeEach(async () => {
  owner = await p.merchant();
  await p.oauthLogin(owner.merchantId, { email: owner.email, sub: `${owner.email} first` });
  await p.t.emitted();
});

const add = (person: Person, as = p.as(owner), identityToken = p.token(person)) =>
  p.call(updateOauth, { email: person.email }, { ...as, identityToken });
const clear = (providerId: string, as = p.as(owner)) => p.call(clearOauth, { provider: 'idp', providerId }, as);
const first = () => `${owner.email} first`;
const idsIn = (result: { ok: boolean }) =>
  (
    result as unknown as { data: { merchantMember: { oauthAccounts: { providerId: string }[] } } }
  ).data.merchantMember.oauthAccounts.map(({ providerId }) => providerId);

describe('an identity', () => {
  it('is linked by its token to whoever is signed in, and signs in from then on', async () => {
    const work = { email: 'kim@work.example.com', sub: `${owner.email} work` };
    expect(idsIn(await add(work))).toEqual([first(), work.sub]);
    expect((await p.t.emitted()).map(({ type }) => type)).toEqual(['member.updated', 'operation.logged']);
    expect(await p.oauthLogin(owner.merchantId, work)).toMatchObject({
      ok: true,
      data: { merchantMember: { id: owner.memberId } },
    });
    await p.t.emitted();
    // linking again changes nothing
    expect(idsIn(await add(work))).toEqual([first(), work.sub]);
    expect(await p.t.emitted()).toEqual([]);
  });

  it('is not linked by a token that does not hold', async () => {
    const bad = p.token({ email: 'x@example.com' }, { aud: 'other' });
    expect(await add({ email: 'x@example.com' }, p.as(owner), bad)).toMatchObject({ slug: 'credential_invalid' });
  });

  it('belongs to one member: of two who link it at once, one does', async () => {
    const member = { ...owner, ...(await p.invited(owner.merchantId)) };
    const taken = { email: owner.email, sub: first() };
    expect(await add(taken, p.as(member))).toMatchObject({ slug: 'oauth_account_taken' });
    const wanted = { email: 'both@example.com', sub: `${owner.email} both` };
    const results = await Promise.all(
      Array.from({ length: 16 }, (_, at) => add(wanted, p.as(at % 2 ? owner : member))),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(8);
    for (const result of results) if (!result.ok) expect(result).toMatchObject({ slug: 'oauth_account_taken' });
  });

  it('is unlinked, signs in no more, not by its e-mail either, and may be linked again', async () => {
    const other = { email: 'other@example.com', sub: `${owner.email} other` };
    await add(other);
    expect(idsIn(await clear(first()))).toEqual([other.sub]);
    const gone = await p.oauthLogin(owner.merchantId, { email: owner.email, sub: first() });
    expect(gone).toMatchObject({ slug: 'credential_invalid' });
    expect(await clear(first())).toMatchObject({ slug: 'oauth_account_not_found' });
    expect(idsIn(await add({ email: owner.email, sub: first() }))).toHaveLength(2);
    expect(await p.oauthLogin(owner.merchantId, { email: owner.email, sub: first() })).toMatchObject({ ok: true });
  });

  it('stays where it is the last way in', async () => {
    expect(await clear(first())).toMatchObject({ slug: 'last_way_in' });
    const member = await p.invited(owner.merchantId);
    const newPassword = 'correct horse';
    await p.oauthSetup(owner.merchantId, member, { setupToken: member.setupToken, newPassword });
    expect(idsIn(await clear(member.email, p.as(member)))).toEqual([]);
    expect(await p.login({ email: member.email, password: newPassword })).toMatchObject({ ok: true });
    expect(await p.oauthLogin(owner.merchantId, member)).toMatchObject({ slug: 'credential_invalid' });
  });

  it('of another member cannot be unlinked', async () => {
    const member = await p.invited(owner.merchantId);
    expect(await clear(first(), p.as(member))).toMatchObject({ slug: 'oauth_account_not_found' });
  });
});
