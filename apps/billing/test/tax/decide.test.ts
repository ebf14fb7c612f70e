import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  emptyOf,
  type MerchantVatRule,
  setNexus,
  setTaxExemption,
  setUsRates,
  UsVatConfig,
  validateVatNumber,
} from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { priceLines } from '../../src/pricing/price.js';
import { billing } from '../../src/service.js';
import { decide, decideRate, followUp, loadTaxContext, type TaxItem, type TaxParties } from '../../src/tax/decide.js';
import { type TaxDecision, taxPoint } from '../../src/tax/domain/decision.js';
import { setGatewayRules, setReverseChargePending } from '../../src/tax/settings.js';
import { line } from '../pricing/samples.js';
import { business, knowUser } from './customers.js';
import { FakeVies, known, unknown } from './fake-vies.js';

const seconds = (iso: string) => Date.parse(iso) / 1000;
const day = 86_400;
const users = { estonian: 1, greek: 2, irish: 3, newYorker: 4, chilean: 5, nobody: 6, private: 7 };

let clock: MovableClock;
let vies: FakeVies;
let t: TestService;
beforeAll(async () => {
  vies = await FakeVies.start();
});
afterAll(() => vies.close());
beforeEach(async () => {
  await t?.close();
  vies.next = known;
  clock = new MovableClock();
  t = await testService(billing, { clock, env: vies.env });
  await knowUser(t, users.estonian, { countryCode: 'EE' });
  await knowUser(t, users.greek, business('GR', 'EL 094 259 216'));
  await knowUser(t, users.irish, business('IE', 'XI980780684'));
  await knowUser(t, users.newYorker, { countryCode: 'US', state: 'new york', zipCode: '10001-1234' });
  await knowUser(t, users.chilean, { countryCode: 'CL' });
  await knowUser(t, users.nobody);
  await knowUser(t, users.private, { countryCode: 'GR', vATNumber: 'EL094259216' });
});
afterAll(() => t.close());

const decided = (over: Partial<TaxParties & TaxItem> = {}): Promise<TaxDecision> =>
  t.db.read(t.callerOf(), reader =>
    decide(reader, {
      userId: users.estonian,
      sellerCountryCode: 'DE',
      gatewayName: 'sandbox',
      at: clock.now(),
      ...over,
    }),
  );
const settings = (run: (tx: Tx) => Promise<object>) =>
  t.db.write(t.callerOf(), async tx => {
    const result = await run(tx);
    tx.log('Tax(settings)', 'Update');
    return result;
  });
const rule: MerchantVatRule = {
  gatewayNames: 'paypal, sandbox',
  validCountryCodes: 'gr,EE',
  taxPercentage: 700,
  ignoreVatNumber: false,
};

describe('the order of the rules', () => {
  it('goes from the request over exemption, gateway rule and reverse charge to the country', async () => {
    const userId = users.greek;
    const sources = async (over = {}) => {
      const { source, category, ratePpm } = await decided({ userId, ...over });
      return [source, category, ratePpm];
    };
    const requested = { taxPercentage: 500, command: 'invoice', byApiKey: false } as const;
    await t.done(setTaxExemption, { userId, exempt: true, reason: 'embassy', validUntil: clock.now() });
    await settings(tx => setGatewayRules(tx, [{ ...rule, ignoreVatNumber: true }]));
    expect(await sources({ requested })).toEqual(['request', 'S', 50_000]);
    expect(await sources()).toEqual(['exemption', 'E', 0]);
    expect(await sources({ at: clock.now() + 1 })).toEqual(['gateway_rule', 'S', 70_000]);
    await t.done(setTaxExemption, { userId, exempt: false });
    expect(await sources()).toEqual(['gateway_rule', 'S', 70_000]);
    expect(await sources({ gatewayName: 'stripe' })).toEqual(['vat_number_format', 'AE', 0]);
    await settings(tx => setGatewayRules(tx, [rule]));
    expect(await sources()).toEqual(['vat_number_format', 'AE', 0]);
    expect(await sources({ userId: users.private })).toEqual(['gateway_rule', 'S', 70_000]);
    await settings(tx => setGatewayRules(tx, []));
    expect(await sources({ userId: users.private })).toEqual(['country', 'S', 240_000]);
    expect(await sources({ userId: users.chilean })).toEqual(['country', 'S', 190_000]);
    expect(await sources({ userId: users.nobody })).toEqual(['none', 'O', 0]);
  });

  it('is asked for a user of the merchant; a buyer who is none yet is what the request states', async () => {
    await expect(decided({ userId: 999 })).rejects.toMatchObject({ slug: 'user_not_found' });
    expect(await decided({ userId: 0, vatCountryCode: 'fi' })).toMatchObject({ ratePpm: 255_000, jurisdiction: 'FI' });
    expect(await decided({ vatCountryCode: 'FI' })).toMatchObject({ jurisdiction: 'FI' });
    expect(await decided({ userId: 0, vatCountryCode: 'EE', vatNumber: 'ee100931558' })).toMatchObject({
      category: 'AE',
      pending: true,
    });
  });
});

describe('the rate of the tax point', () => {
  it('Estonia 22 → 24 % on 2025-07-01: June usage 10000 → 2200, July fee 5000 → 1200, total 18400', async () => {
    const july = seconds('2025-07-01T00:00:00Z');
    const [usage, fee] = await t.db.read(t.callerOf(), async reader => {
      const facts = await loadTaxContext(reader, { userId: users.estonian, sellerCountryCode: 'DE' });
      const at = (point: number) => decideRate(facts, { gatewayName: 'sandbox', at: point });
      return [at(taxPoint({ usagePeriodEnd: july }, july)), at(taxPoint({}, july))];
    });
    const { lines, amounts, taxes } = priceLines([
      line(10_000n, usage as TaxDecision),
      line(5000n, fee as TaxDecision),
    ]);
    expect(lines.map(({ tax }) => tax)).toEqual([2200n, 1200n]);
    expect(amounts.totalAmount).toBe(18_400n);
    expect(taxes).toMatchObject([
      { category: 'S', ratePpm: 220_000, jurisdiction: 'EE', source: 'country', reason: 'Standard rate of EE' },
      { category: 'S', ratePpm: 240_000 },
    ]);
  });

  it.each([
    ['SK', '2025-01-01', 200_000, 230_000],
    ['RO', '2025-08-01', 190_000, 210_000],
    ['FI', '2024-09-01', 240_000, 255_000],
  ])('%s changes on %s', async (vatCountryCode, date, before, after) => {
    const at = seconds(`${date}T00:00:00Z`);
    expect((await decided({ vatCountryCode, at: at - 1 })).ratePpm).toBe(before);
    expect((await decided({ vatCountryCode, at })).ratePpm).toBe(after);
  });
});

describe('reverse charge', () => {
  const validate = (vatNumber: string) => t.done(validateVatNumber, { vatNumber });

  it('counts an answer of VIES for 90 days, then goes by the format again', async () => {
    const userId = users.greek;
    expect(await decided({ userId })).toMatchObject({ category: 'AE', source: 'vat_number_format', pending: true });
    await validate('EL094259216');
    expect(await decided({ userId })).toMatchObject({
      category: 'AE',
      ratePpm: 0,
      jurisdiction: 'GR',
      source: 'vies',
      pending: false,
      reason: 'Reverse charge: the recipient is liable for the tax (VAT number EL094259216)',
    });
    clock.advance(90 * day + 1);
    expect(await decided({ userId })).toMatchObject({ category: 'AE', source: 'vat_number_format', pending: true });
  });

  it('is denied to a number that VIES does not know', async () => {
    vies.next = unknown;
    await validate('EL094259216');
    expect(await decided({ userId: users.greek })).toMatchObject({ category: 'S', ratePpm: 240_000 });
  });

  it('of an unconfirmed number is followed up when a document is finished', async () => {
    const finish = (userId: number) =>
      settings(async tx => {
        const facts = await loadTaxContext(tx, { userId, sellerCountryCode: 'DE' });
        await followUp(tx, facts, [decideRate(facts, { gatewayName: 'sandbox', at: tx.now })]);
        return {};
      });
    await finish(users.greek);
    await finish(users.estonian);
    await finish(users.private);
    expect(await t.rows('select number, country_code, pending_since from vat_numbers')).toEqual([
      { number: 'EL094259216', country_code: 'GR', pending_since: String(clock.now()) },
    ]);
    expect(await decided({ userId: users.greek })).toMatchObject({ pending: true });
    await validate('EL094259216');
    expect(await t.rows('select pending_since from vat_numbers')).toEqual([{ pending_since: '0' }]);
  });

  it('of unconfirmed numbers can be switched off', async () => {
    await settings(tx => setReverseChargePending(tx, false));
    expect(await decided({ userId: users.greek })).toMatchObject({ category: 'S', source: 'country' });
  });

  it('is not for the merchant’s own country, nor without a business', async () => {
    expect(await decided({ userId: users.greek, sellerCountryCode: 'GR' })).toMatchObject({ category: 'S' });
    expect(await decided({ userId: users.private })).toMatchObject({ category: 'S' });
  });

  it('takes the prefix of Northern Ireland', async () => {
    expect(await decided({ userId: users.irish })).toMatchObject({ category: 'AE', jurisdiction: 'GB' });
    expect(await decided({ userId: users.irish, sellerCountryCode: 'gb' })).toMatchObject({ category: 'S' });
  });
});

describe('US sales tax', () => {
  const userId = users.newYorker;
  const active = { ...emptyOf(UsVatConfig), active: true };
  const rates = [
    { state: 'NY', ratePpm: 40_000 },
    { state: 'NY', zip: '10001', ratePpm: 88_750 },
    { state: 'NY', zip: '10001', ratePpm: 90_000, from: seconds('2026-02-01T00:00:00Z') },
    { state: 'CA', ratePpm: 84_250 },
  ];

  it('needs nexus and an entered rate; the ZIP code goes before the state, at the date of the tax point', async () => {
    expect(await decided({ userId })).toMatchObject({ category: 'O', reason: 'US sales tax is not switched on' });
    await t.done(setNexus, { nexusAddresses: [{ state: 'CA' }] });
    expect(await decided({ userId })).toMatchObject({ reason: 'No nexus in US-NY' });
    await t.done(setNexus, { nexusAddresses: [{ state: 'CA' }, { state: 'NY' }] });
    expect(await decided({ userId })).toMatchObject({ reason: 'No sales tax rate was entered for US-NY' });
    await t.done(setUsRates, { rates });
    const rate = await decided({ userId });
    expect(rate).toMatchObject({ category: 'S', ratePpm: 88_750, jurisdiction: 'US-NY', source: 'us' });
    expect(priceLines([line(100_000n, rate)]).amounts.taxAmount).toBe(8875n);
    expect(await decided({ userId, at: seconds('2026-02-01T00:00:00Z') })).toMatchObject({ ratePpm: 90_000 });
    await knowUser(t, 8, { countryCode: 'US', zipCode: '90210' });
    expect(priceLines([line(765_000n, await decided({ userId: 8 }))]).amounts.taxAmount).toBe(64_451n);
  });

  it("follows usVATConfig of the plan, else of the product, else the merchant's nexus", async () => {
    await t.done(setUsRates, { rates });
    const inNewYork = { ...active, nexusAddresses: [{ ...emptyAddress, state: 'New York' }] };
    const inCalifornia = { ...active, nexusAddresses: [{ ...emptyAddress, state: 'CA' }] };
    expect(await decided({ userId, plan: inNewYork, product: inCalifornia })).toMatchObject({ ratePpm: 88_750 });
    expect(await decided({ userId, product: inCalifornia })).toMatchObject({ reason: 'No nexus in US-NY' });
    expect(await decided({ userId, plan: { ...inCalifornia, active: false }, product: inNewYork })).toMatchObject({
      ratePpm: 88_750,
    });
    expect(await decided({ userId, plan: active })).toMatchObject({ reason: 'No nexus in US-NY' });
    await t.done(setNexus, { nexusAddresses: [{ state: 'NY' }] });
    expect(await decided({ userId, plan: active, product: null })).toMatchObject({ ratePpm: 88_750 });
  });

  const emptyAddress = { address: '', city: '', countryCode: 'US', state: '', zipCode: '', verified: false };
});
