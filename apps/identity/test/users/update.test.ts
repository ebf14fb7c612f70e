import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyOf, Gateway, getUser, newUser, UserAccountDetail, updateUser, userType } from '@recur/contracts';
import type { Event } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

let made = 0;
async function user(more: object = {}, merchantId?: number) {
  const { user } = await t.done(newUser, { email: `u${++made}@example.com`, ...more }, { merchantId });
  await t.emitted();
  return user;
}
const issuesOf = async (input: object) => {
  const result = await t.call(updateUser, input);
  if (result.ok) throw new Error('it was accepted');
  return [result.slug, ...result.issues.map(({ path }) => path)];
};

/** billing's event about a gateway. */
const gateway = (gatewayId: number, more: Partial<Gateway> = {}): Gateway => ({
  ...emptyOf(Gateway),
  gatewayId,
  gatewayName: 'wire_transfer',
  ...more,
});
const published = (data: Gateway, version: number): Event => ({
  id: `ev_gateway_${data.gatewayId}_${version}`,
  type: version === 1 ? 'gateway.created' : 'gateway.updated',
  merchantId: 15,
  aggregate: 'gateway',
  aggregateId: String(data.gatewayId),
  version,
  at: 0,
  actor: { kind: 'system', id: '', display: 'system' },
  requestId: '',
  traceparent: '',
  data,
});

const profile = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  phone: '+44 1',
  address: '12 Street',
  language: 'en',
  externalUserId: 'ada',
  type: userType.business,
  gatewayPaymentType: 'sepa',
  paymentMethodId: 'pm_1',
  city: 'London',
  companyName: 'Engines',
  countryCode: 'GB',
  countryName: 'United Kingdom',
  registrationNumber: 'R1',
  state: 'Greater London',
  vATNumber: 'GB1',
  zipCode: 'W1',
  LinkedIn: 'in/ada',
  facebook: 'fb/ada',
  otherSocialInfo: 'pigeon',
  telegram: '@ada',
  tiktok: '@ada2',
  weChat: 'ada3',
  whatsApp: 'ada4',
  metadata: { tier: 'gold', nested: { list: [1, 2] } },
};
const { paymentMethodId: paymentMethod, LinkedIn: linkedIn, tiktok: tikTok, whatsApp: whatsAPP, ...alike } = profile;
const answered = { ...alike, paymentMethod, linkedIn, tikTok, whatsAPP };

it('a new user may have every field that an update may change', async () => {
  const fieldsOf = ({ input }: typeof newUser | typeof updateUser) =>
    Object.keys(input.shape).filter(name => !['userId', 'email', 'password', 'gatewayId'].includes(name));
  expect(fieldsOf(newUser)).toEqual(fieldsOf(updateUser));
  expect(fieldsOf(newUser).sort()).toEqual(Object.keys(profile).sort());
  const whole = { email: 'whole@example.com', ...profile, externalUserId: 'whole' };
  expect(await user(whole)).toMatchObject({ ...answered, externalUserId: 'whole', version: 1 });
});

describe('user/update', () => {
  it('changes every field, with one event of the whole user and one log entry', async () => {
    const before = await user();
    const { user: after } = await t.done(updateUser, { userId: before.id, email: 'Ada@Example.com', ...profile });
    const whole = { ...before, ...answered, email: 'Ada@Example.com', version: 2 };
    expect(after).toEqual({ ...emptyOf(UserAccountDetail), ...whole });
    expect(await t.emitted()).toMatchObject([
      { type: 'user.updated', aggregateId: String(before.id), version: 2, data: whole },
      {
        type: 'operation.logged',
        data: { target: `User(${before.id})`, content: 'Update', ids: { userId: before.id } },
      },
    ]);
    expect(await t.done(getUser, { userId: before.id })).toEqual({ user: after });
  });

  it('leaves what is not sent, clears what is blank, and replaces metadata as a whole', async () => {
    const { id } = await user();
    const { user: full } = await t.done(updateUser, { userId: id, ...profile, externalUserId: 'full' });
    const cleared = { lastName: '', externalUserId: '', city: '', whatsApp: '' };
    const { user: after } = await t.done(updateUser, { userId: id, ...cleared, metadata: { other: 1 } });
    const { whatsApp: _, ...names } = cleared;
    expect(after).toEqual({ ...full, ...names, whatsAPP: '', metadata: { other: 1 }, version: 3 });
    const { user: without } = await t.done(updateUser, { userId: id, metadata: {} });
    expect(without.metadata).toEqual({});
    const [row] = await t.rows('select profile from users where id = $1', [id]);
    expect(row?.profile).not.toHaveProperty('metadata');
    expect(row?.profile).not.toHaveProperty('city');
  });

  it('that changes nothing emits nothing and logs nothing', async () => {
    const { id } = await user();
    await t.done(updateUser, { userId: id, ...profile, externalUserId: 'noop' });
    await t.emitted();
    const { metadata } = profile;
    const reordered = { nested: metadata.nested, tier: metadata.tier };
    const same = { userId: id, ...profile, externalUserId: 'noop', metadata: reordered };
    const { user: after } = await t.done(updateUser, same, { idempotencyKey: 'noop' });
    expect(after.version).toBe(2);
    await t.done(updateUser, { userId: id });
    expect(await t.emitted()).toEqual([]);
    expect((await t.call(updateUser, same, { idempotencyKey: 'noop' })) as object).toMatchObject({
      ok: true,
      data: { user: after },
    });
  });

  it('refuses what is wrong, and what another user has, naming the fields', async () => {
    const one = await user({ email: 'one@example.com', externalUserId: 'one' });
    const two = await user({ email: 'two@example.com', externalUserId: 'two' });
    const to = (edit: object) => issuesOf({ userId: two.id, ...edit });
    expect(await to({ email: 'ONE@example.com' })).toEqual(['invalid_parameters', '/email']);
    expect(await to({ email: one.email, externalUserId: 'one' })).toEqual([
      'invalid_parameters',
      '/email',
      '/externalUserId',
    ]);
    expect(await to({ email: '' })).toEqual(['invalid_parameters', '/email']);
    expect(await to({ type: 0, city: 7 })).toEqual(['invalid_parameters', '/type', '/city']);
    expect(await issuesOf({ city: 'x' })).toEqual(['invalid_parameters', '/userId']);
    expect(await issuesOf({ userId: 0 })).toEqual(['invalid_parameters', '/userId']);
    expect(await t.emitted()).toEqual([]);
    // the user's own e-mail in another case is no conflict
    const { user: after } = await t.done(updateUser, {
      userId: two.id,
      email: 'TWO@example.com',
      externalUserId: 'two',
    });
    expect(after).toMatchObject({ email: 'TWO@example.com', version: 2 });
  });

  it('lets one of many have an e-mail that they all want at once', async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => user()));
    const results = await Promise.all(
      all.map(({ id }, at) => t.call(updateUser, { userId: id, email: at % 2 ? 'w@example.com' : 'W@example.com' })),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    for (const result of results.filter(({ ok }) => !ok)) {
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/email' }] });
    }
    expect(await t.rows(`select 1 from users where email_key = 'w@example.com'`)).toHaveLength(1);
  });

  it("of an unknown user and of another merchant's is refused alike", async () => {
    const theirs = await user({}, 16);
    const unknown = await t.call(updateUser, { userId: 999_999, city: 'x' });
    expect(unknown).toMatchObject({ ok: false, slug: 'user_not_found' });
    expect(await t.call(updateUser, { userId: theirs.id, city: 'x' })).toEqual(unknown);
    expect(await t.call(getUser, { userId: theirs.id })).toEqual(await t.call(getUser, { userId: 999_999 }));
    expect(await t.done(getUser, { userId: theirs.id }, { merchantId: 16 })).toMatchObject({ user: theirs });
  });
});

describe("a user's gateway", () => {
  it('is one that billing told of, shown with the user', async () => {
    const { id } = await user();
    await t.deliver('billing', [published(gateway(7), 1)]);
    const { user: after } = await t.done(updateUser, { userId: id, gatewayId: 7 });
    expect(after).toMatchObject({ gatewayId: 7, gateway: gateway(7), version: 2 });
    expect(await t.done(getUser, { userId: id })).toEqual({ user: after });
    const { user: without } = await t.done(updateUser, { userId: id, gatewayId: 0 });
    expect(without).toMatchObject({ gatewayId: 0, gateway: null, version: 3 });
  });

  it('that is not known here is asked for; billing away is 56, never a refusal', async () => {
    const { id } = await user();
    const asked = { userId: id, gatewayId: 8 };
    expect(await t.call(updateUser, asked)).toMatchObject({ slug: 'dependency_away' });
    const answer = (item: object | null) =>
      t.bus.answer('billing', async () => ({ ok: true, bytes: JSON.stringify({ item }) }));
    answer(null);
    expect(await t.call(updateUser, asked)).toMatchObject({ slug: 'gateway_not_found' });
    const another = { email: `u${++made}@example.com`, gatewayId: 8 };
    expect(await t.call(newUser, another)).toMatchObject({ slug: 'gateway_not_found' });
    answer({ merchantId: 15, version: 1, data: gateway(8) });
    expect(await t.call(updateUser, asked)).toMatchObject({ ok: true, data: { user: { gateway: gateway(8) } } });
    t.bus.remove('billing');
  });

  it('may not be archived, unless it is the one that the user has', async () => {
    const { id } = await user();
    await t.deliver('billing', [published(gateway(9), 1)]);
    await t.done(updateUser, { userId: id, gatewayId: 9 });
    const archived = gateway(9, { archive: true });
    await t.deliver('billing', [published(archived, 2)]);
    const { user: same } = await t.done(updateUser, { userId: id, gatewayId: 9, city: 'Paris' });
    expect(same).toMatchObject({ gateway: archived, city: 'Paris' });
    const other = await user();
    t.bus.answer('billing', async () => ({
      ok: true,
      bytes: JSON.stringify({ item: { merchantId: 15, version: 2, data: archived } }),
    }));
    expect(await t.call(updateUser, { userId: other.id, gatewayId: 9 })).toMatchObject({ slug: 'gateway_archived' });
    const another = { email: `u${++made}@example.com`, gatewayId: 9 };
    expect(await t.call(newUser, another)).toMatchObject({ slug: 'gateway_archived' });
    t.bus.remove('billing');
  });
});

describe('the name of a country', () => {
  const nameOf = async (id: number, edit: object) => {
    const { user } = await t.done(updateUser, { userId: id, ...edit });
    return user.countryName;
  };

  it("is that of its code in the user's language, in answers and events, unless it was sent", async () => {
    const { user } = await t.done(newUser, { email: 'country@example.com', countryCode: 'DE', language: 'fr' });
    expect(user.countryName).toBe('Allemagne');
    expect(await t.emitted()).toMatchObject([{ data: { countryName: 'Allemagne' } }, {}]);
    expect(await nameOf(user.id, { language: 'de' })).toBe('Deutschland');
    expect(await nameOf(user.id, { countryCode: 'AT' })).toBe('Österreich');
    expect(await nameOf(user.id, { countryName: 'Tu felix Austria' })).toBe('Tu felix Austria');
    expect(await nameOf(user.id, { countryCode: 'CH', language: 'en' })).toBe('Tu felix Austria');
    expect(await nameOf(user.id, { countryName: '' })).toBe('Switzerland');
    expect(await nameOf(user.id, { countryCode: '' })).toBe('');
    expect(await nameOf(user.id, { countryCode: 'nowhere' })).toBe('');
  });

  it('that was sent with its own code goes with it, and only then', async () => {
    const { id } = await user({ countryCode: 'GB', countryName: 'United Kingdom', language: 'de' });
    expect(await nameOf(id, { countryCode: 'GB', city: 'London' })).toBe('United Kingdom');
    expect(await nameOf(id, { countryCode: 'DE' })).toBe('Deutschland');
    expect(await nameOf(id, { countryCode: 'GB', countryName: 'Deutschland' })).toBe('Deutschland');
    expect(await nameOf(id, { countryCode: 'FR' })).toBe('Deutschland');
  });

  it('is shown to users of before as well, without a change of theirs', async () => {
    const { id, version } = await user({ countryCode: 'ES' });
    const [row] = await t.rows('select profile from users where id = $1', [id]);
    expect(row?.profile).toEqual({ countryCode: 'ES' });
    expect((await t.done(getUser, { userId: id })).user).toMatchObject({ countryName: 'Spain', version });
  });
});
