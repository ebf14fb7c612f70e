import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  listUsRates,
  listVatCountries,
  setNexus,
  setTaxExemption,
  setUsRates,
  setupVatGateway,
  validateUsAddress,
} from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../src/service.js';
import { setGatewayRules, setReverseChargePending, taxSettingsOf } from '../../src/tax/settings.js';
import { knowUser } from './customers.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(billing);
  t.bus.answer('identity', async () => ({ ok: true, bytes: JSON.stringify({ item: null }) }));
});
afterAll(() => t.close());

const neighbour = { merchantId: 16 };
const logged = async () => (await t.emitted()).map(({ data }) => data);

it('the tables are as they are mapped', async () => {
  expect(await t.drift()).toEqual([]);
});

describe('vat/nexus', () => {
  const address = { address: '1 Main St', city: 'Albany', countryCode: 'us', state: 'New York', zipCode: '12207' };

  it('replaces the addresses, their states as codes', async () => {
    const normal = { ...address, countryCode: 'US', state: 'NY', verified: false };
    const addresses = [address, { state: 'ca', verified: true }];
    expect(await t.done(setNexus, { nexusAddresses: addresses })).toMatchObject({
      nexusAddresses: [normal, { state: 'CA', countryCode: 'US', verified: false }],
    });
    expect(await logged()).toMatchObject([{ target: 'Tax(nexus)', content: 'Update' }]);
    expect(await t.done(setNexus, { nexusAddresses: [address] })).toEqual({ nexusAddresses: [normal] });
    const { nexusAddresses } = await t.db.read(t.callerOf(), reader => taxSettingsOf(reader));
    expect(nexusAddresses).toEqual([normal]);
    expect((await t.db.read(t.callerOf(neighbour), reader => taxSettingsOf(reader))).nexusAddresses).toEqual([]);
  });

  it.each([
    [{ ...address, state: 'XX' }, 'state'],
    [{ ...address, state: '' }, 'state'],
    [{ ...address, countryCode: 'CA' }, 'countryCode'],
  ])('refuses %j', async (wrong, field) => {
    expect(await t.call(setNexus, { nexusAddresses: [address, wrong] })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: `/nexusAddresses/1/${field}` }],
    });
  });
});

describe('vat/us_rates', () => {
  const rates = [
    { state: 'NY', zip: '', ratePpm: 40_000, from: 0, to: 0 },
    { state: 'NY', zip: '10001', ratePpm: 88_750, from: 0, to: 1_767_225_600 },
    { state: 'NY', zip: '10001', ratePpm: 90_000, from: 1_767_225_600, to: 0 },
  ];
  const listed = async (caller = {}) => (await t.done(listUsRates, {}, caller)).rates;

  it('replaces all rates, and us_rates/list has them by place and date', async () => {
    const reversed = rates.toReversed().map(rate => ({ ...rate, state: 'new york' }));
    expect(await t.done(setUsRates, { rates: reversed })).toEqual({ rates: rates.toReversed() });
    expect(await listed()).toEqual(rates);
    expect(await listed(neighbour)).toEqual([]);
    expect(await t.done(setUsRates, { rates: rates.slice(0, 1) })).toEqual({ rates: rates.slice(0, 1) });
    expect(await listed()).toEqual(rates.slice(0, 1));
    await t.done(setUsRates, { rates: [] });
    expect(await listed()).toEqual([]);
  });

  it('leaves the rates of one command, however many come at once', async () => {
    const sets = [1, 2, 3, 4, 5, 6].map(n => rates.map(rate => ({ ...rate, ratePpm: n })));
    const results = await Promise.all(sets.map(set => t.call(setUsRates, { rates: set })));
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(sets).toContainEqual(await listed());
  });

  it.each([
    ['an unknown state', { state: 'ZZ' }, '/rates/0/state'],
    ['a ZIP code that is none', { zip: '1000' }, '/rates/0/zip'],
    ['more than 100 %', { ratePpm: 1_000_001 }, '/rates/0/ratePpm'],
    ['an end before the beginning', { from: 10, to: 10 }, '/rates/0/to'],
  ])('refuses %s', async (_, over, path) => {
    expect(await t.call(setUsRates, { rates: [{ ...rates[0], ...over }] })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path }],
    });
  });

  it('refuses two rates of one place from one time', async () => {
    const twice = [rates[0], { ...rates[0], state: 'New York', ratePpm: 1 }];
    expect(await t.call(setUsRates, { rates: twice })).toMatchObject({ issues: [{ path: '/rates/1/from' }] });
  });
});

describe('vat/user_exemption', () => {
  const rows = () => t.rows('select user_id, reason, valid_until from tax_exemptions');

  it('exempts a user, changes the exemption, and ends it', async () => {
    await knowUser(t, 7);
    await t.emitted();
    expect(await t.done(setTaxExemption, { userId: 7, exempt: true, reason: 'embassy' })).toEqual({});
    await t.done(setTaxExemption, { userId: 7, exempt: true, reason: 'charity', validUntil: 1_800_000_000 });
    expect(await rows()).toEqual([{ user_id: '7', reason: 'charity', valid_until: '1800000000' }]);
    await t.done(setTaxExemption, { userId: 7, exempt: false });
    expect(await rows()).toEqual([]);
    expect(await logged()).toMatchObject([
      { target: 'User(7)', content: 'TaxExempt', ids: { userId: 7 } },
      { content: 'TaxExempt' },
      { content: 'TaxExemptionEnd' },
    ]);
    expect(await t.done(setTaxExemption, { userId: 7, exempt: false })).toEqual({});
    expect(await logged()).toEqual([]);
  });

  it('needs a user of the merchant', async () => {
    await knowUser(t, 8, {}, 16);
    for (const userId of [8, 999]) {
      expect(await t.call(setTaxExemption, { userId, exempt: true })).toMatchObject({ slug: 'user_not_found' });
    }
  });
});

describe('vat/setup_gateway', () => {
  it('takes vies alone', async () => {
    expect(await t.call(setupVatGateway, { gatewayName: 'vatsense', data: 'key' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/gatewayName' }],
    });
    await t.done(setupVatGateway, { gatewayName: 'vies', data: 'EE100931558' });
    const { vatCountryList } = await t.done(listVatCountries, {});
    expect(vatCountryList.filter(({ gateway }) => gateway === 'vies')).toHaveLength(27);
  });
});

describe('vat/country_list', () => {
  it('has every country with its rate in force', async () => {
    const { vatCountryList } = await t.done(listVatCountries, { merchantId: 1 }, neighbour);
    expect(vatCountryList).toHaveLength(250);
    expect(vatCountryList.find(({ countryCode }) => countryCode === 'FI')).toEqual({
      id: 246,
      countryCode: 'FI',
      countryName: 'Finland',
      gateway: '',
      isEU: true,
      mamo: '',
      standardTaxPercentage: 2_550,
      vatSupport: true,
    });
    expect(vatCountryList.find(({ countryCode }) => countryCode === 'US')).toMatchObject({
      standardTaxPercentage: 0,
      vatSupport: false,
    });
  });
});

describe('vat/us_vat_validate_address', () => {
  it('answers candidates; none without an address', async () => {
    expect(await t.done(validateUsAddress, {})).toEqual({ addresses: [] });
    const address = { countryCode: 'us', state: 'NY', city: 'new york', zipCode: '10001', address: '1 A St' };
    expect(await t.done(validateUsAddress, { address })).toEqual({
      addresses: [{ ...address, countryCode: 'US', city: 'New York', verified: true }],
    });
  });

  it('is for the US', async () => {
    const address = { countryCode: 'DE', city: 'Berlin' };
    expect(await t.call(validateUsAddress, { address })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/address/countryCode' }],
    });
  });
});

describe('rules by gateway, and reverse charge of unconfirmed numbers', () => {
  it('are set each for itself', async () => {
    const rule = { gatewayNames: 'sandbox', validCountryCodes: '', taxPercentage: 700, ignoreVatNumber: false };
    const change = (run: (tx: Tx) => Promise<object>) =>
      t.db.write(t.callerOf(neighbour), async tx => {
        const settings = await run(tx);
        tx.log('Tax(settings)', 'Update');
        return settings;
      });
    await change(tx => setGatewayRules(tx, [rule]));
    expect(await change(tx => setReverseChargePending(tx, false))).toMatchObject({
      gatewayRules: [rule],
      reverseChargePending: false,
    });
  });
});
