import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyOf, Gateway, getMerchant, listApiKeys, newApiKey, revokeApiKey, updateMerchant } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { decodeJwt } from 'jose';
import { identity } from '../../src/service.js';
import { type Company, newCompany } from '../company.js';

let t: TestService;
let company: Company;
const clock = new MovableClock();
beforeAll(async () => {
  t = await testService(identity, { clock, env: { BASE_URL: 'https://billing.example.com' } });
});
afterAll(() => t.close());
beforeEach(async () => {
  company = await newCompany(t);
  await t.emitted();
});
const get = (caller = company.key) => t.done(getMerchant, {}, caller);

describe('the merchant', () => {
  it('is answered with its settings, and an API key is its owner', async () => {
    const roleId = await company.role('plan.read');
    const answer = await get();
    const [key] = (await t.done(listApiKeys, {}, company.key)).apiKeys;
    expect(answer).toMatchObject({
      env: 'sandbox',
      isProd: false,
      isOwner: true,
      defaultCurrency: '',
      openApiHost: 'https://billing.example.com',
      merchant: { id: company.merchantId, name: 'Acme', createTime: clock.now(), companyName: '' },
      merchantMember: { id: company.ownerId, isOwner: true },
      MemberRoles: [{ id: roleId }],
      openApiKey: key?.hint,
      gateways: [],
    });
    expect(answer.Currency).toContainEqual({ Currency: 'EUR', Scale: 100, Symbol: '€' });
    expect(answer.Currency).toContainEqual({ Currency: 'KWD', Scale: 1000, Symbol: 'KWD' });
    expect(answer.TimeZone).toEqual(expect.arrayContaining(['Europe/Berlin', 'Asia/Tokyo', 'UTC']));
    expect(JSON.stringify(answer)).not.toContain(company.apiKey.split('.')[2]);
  });

  it('is answered to a member as that member, on its device', async () => {
    const { memberId } = await company.invite(await company.role('configuration.read'));
    const { caller } = await company.signIn(memberId);
    const { isOwner, merchantMember } = await get({ ...company.key, ...caller });
    expect([isOwner, merchantMember?.id]).toEqual([false, memberId]);
    expect(merchantMember?.currentDeviceIdentity).not.toBe('');
  });

  it("shows its gateways as billing tells of them, and no other merchant's", async () => {
    const other = await newCompany(t);
    const data = { gatewayId: 7, gatewayName: 'wire_transfer', archive: false, gatewayKey: '****' };
    const event = {
      id: 'ev_1',
      type: 'gateway.created',
      aggregate: 'gateway',
      aggregateId: '7',
      version: 1,
      at: 1,
      merchantId: company.merchantId,
      requestId: '',
      traceparent: '',
      data,
      actor: { kind: 'system', id: '', display: 'system' } as const,
    };
    await t.deliver('billing', [event]);
    const shown = (await t.bus.request('cmd.identity.merchant.get', '{}', t.callerOf(company.key))).bytes;
    expect(JSON.parse(shown.toString()).gateways).toEqual([{ ...emptyOf(Gateway), ...data }]);
    expect((await get(other.key)).gateways).toEqual([]);
  });

  it("shows its rule sets of currencies as catalog tells of them, and no other merchant's", async () => {
    const other = await newCompany(t);
    const set = (name: string) => ({ name, defaultCurrency: 'USD', lastUpdateTime: 1, currencyConfigs: [] });
    const published = (version: number, name: string) => ({
      id: `ev_c${version}`,
      type: 'currency.updated',
      aggregate: 'currency',
      version,
      at: 1,
      aggregateId: String(company.merchantId),
      data: { multiCurrencyConfigs: [set(name)] },
      merchantId: company.merchantId,
      requestId: '',
      traceparent: '',
      actor: { kind: 'system', id: '', display: 'system' } as const,
    });
    expect((await get()).multiCurrencyConfigs).toEqual([]);
    await t.deliver('catalog', [published(1, 'first')]);
    await t.deliver('catalog', [published(2, 'second')]);
    expect((await get()).multiCurrencyConfigs).toEqual([set('second')]);
    expect((await get(other.key)).multiCurrencyConfigs).toEqual([]);
  });

  it('changes by what is sent alone', async () => {
    const edit = {
      companyName: 'Acme Ltd',
      timeZone: 'Europe/Berlin',
      defaultCurrency: 'eur',
      email: 'hi@example.com',
    };
    const { merchant } = await t.done(updateMerchant, edit, company.key);
    expect(merchant).toMatchObject({ companyName: 'Acme Ltd', timeZone: 'Europe/Berlin', email: 'hi@example.com' });
    const [updated, logged] = await t.emitted();
    expect(updated).toMatchObject({ type: 'merchant.updated', version: 2, data: merchant });
    expect(logged?.data).toMatchObject({ target: `Merchant(${company.merchantId})`, content: 'Update' });
    expect(await get()).toMatchObject({ defaultCurrency: 'EUR', merchant });
    await t.done(updateMerchant, { ...edit, phone: '' }, company.key);
    expect(await t.emitted()).toEqual([]);
    await t.done(updateMerchant, { companyName: '', phone: '+1' }, company.key);
    const after = { defaultCurrency: 'EUR', merchant: { ...merchant, companyName: '', phone: '+1' } };
    expect(await get()).toMatchObject(after);
    await t.done(updateMerchant, { defaultCurrency: '' }, company.key);
    expect(await get()).toMatchObject({ ...after, defaultCurrency: '' });
  });

  it.each([
    [{ timeZone: 'Europe/Atlantis' }, '/timeZone'],
    [{ defaultCurrency: 'EURO' }, '/defaultCurrency'],
    [{ email: 'nobody' }, '/email'],
    [{ companyLogo: 'javascript:alert(1)' }, '/companyLogo'],
    [{ phone: 7 }, '/phone'],
    [{ address: 'x'.repeat(2_001) }, '/address'],
  ])('refuses %j', async (edit, path) => {
    expect(await t.call(updateMerchant, edit, company.key)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path }],
    });
  });
});

describe('API keys', () => {
  const list = async () => (await t.done(listApiKeys, {}, company.key)).apiKeys;

  it('are made by rotation, listed without what is secret, and ended', async () => {
    const [first] = await list();
    const once = { ...company.key, idempotencyKey: 'rotate' };
    const { apiKey } = await t.done(newApiKey, {}, once);
    expect(await t.done(newApiKey, {}, once)).toEqual({ apiKey });
    expect(decodeJwt(apiKey).sub).toBe(String(company.merchantId));
    const [second, ending] = await list();
    expect(ending).toEqual({ ...first, state: 'ending', revokedTime: clock.now() + 86_400 });
    expect(second).toMatchObject({ state: 'active', revokedTime: 0 });
    expect(JSON.stringify(await list())).not.toContain(apiKey);
    await t.emitted();
    const end = { ...company.key, idempotencyKey: 'end' };
    for (let time = 0; time < 2; time++) expect(await t.done(revokeApiKey, { apiKeyId: first?.id }, end)).toEqual({});
    expect((await t.emitted()).map(({ type }) => type)).toEqual([
      'apikey.revoked',
      'callers.changed',
      'operation.logged',
    ]);
    expect((await list())[1]).toMatchObject({ id: first?.id, state: 'revoked', revokedTime: clock.now() });
    await t.done(revokeApiKey, { apiKeyId: first?.id }, company.key);
    expect(await t.emitted()).toEqual([]);
  });

  it('do not end themselves, and are found by their merchant alone', async () => {
    const [key] = await list();
    const [row] = await t.rows('select jti_hash from api_keys where id = $1', [key?.id]);
    const itself = { ...company.key, actor: { kind: 'key', id: String(row?.jti_hash), display: '' } as const };
    expect(await t.call(revokeApiKey, { apiKeyId: key?.id }, itself)).toMatchObject({ slug: 'own_api_key' });
    const other = await newCompany(t);
    const their = await t.call(revokeApiKey, { apiKeyId: key?.id }, other.key);
    expect(their).toMatchObject({ slug: 'api_key_not_found' });
    expect(their).toEqual(await t.call(revokeApiKey, { apiKeyId: 999_999 }, other.key));
    expect((await list())[0]?.state).toBe('active');
  });

  it('hold 20 at a time, and no more', async () => {
    for (let held = 1; held < 20; held++) await t.done(newApiKey, {}, company.key);
    expect(await t.call(newApiKey, {}, company.key)).toMatchObject({ slug: 'too_many_api_keys' });
  });
});

describe('the name of the country', () => {
  it('is the English one of its code, unless it was sent', async () => {
    const nameOf = async (edit: object) => (await t.done(updateMerchant, edit, company.key)).merchant.countryName;
    expect(await nameOf({ countryCode: 'NL' })).toBe('Netherlands');
    expect((await get()).merchant.countryName).toBe('Netherlands');
    expect(await nameOf({ countryName: 'Nederland' })).toBe('Nederland');
    expect(await nameOf({ countryCode: 'BE', countryName: '' })).toBe('Belgium');
    const updated = (await t.emitted()).filter(({ type }) => type === 'merchant.updated').map(({ data }) => data);
    expect(updated.at(-1)).toMatchObject({ countryName: 'Belgium' });
  });
});
