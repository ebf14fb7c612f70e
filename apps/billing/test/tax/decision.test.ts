import { describe, expect, it } from '@jest/globals';
import { decideTax, type TaxBuyer, type TaxQuestion, taxPoint } from '../../src/tax/domain/decision.js';

const seconds = (iso: string) => Date.parse(iso) / 1000;
const now = seconds('2025-06-15T00:00:00Z');
const day = 86_400;

const estonian: TaxBuyer = { business: false, countryCode: 'EE', state: '', zip: '' };
const business: TaxBuyer = {
  ...estonian,
  business: true,
  vatNumber: { number: 'EE123456789', wellFormed: true, answer: { valid: true, checkedAt: now - day } },
};
const newYorker: TaxBuyer = { business: false, countryCode: 'US', state: 'NY', zip: '10001-1234' };
const rule = { gatewayNames: ['paypal'], countryCodes: ['EE'], taxPercentage: 700, ignoreVatNumber: false };

const question = (over: Partial<TaxQuestion> = {}): TaxQuestion => ({
  seller: { countryCode: 'DE', gatewayRules: [], reverseChargePending: true },
  buyer: estonian,
  gatewayName: 'stripe',
  product: {},
  merchantUs: { active: true, nexusStates: ['NY'] },
  countryRates: [
    { countryCode: 'EE', ratePpm: 220_000, from: seconds('2024-01-01T00:00:00Z') },
    { countryCode: 'EE', ratePpm: 240_000, from: seconds('2025-07-01T00:00:00Z') },
    { countryCode: 'DE', ratePpm: 190_000, from: 0 },
  ],
  usRates: [
    { state: 'NY', zip: '', ratePpm: 40_000, from: 0 },
    { state: 'NY', zip: '10001', ratePpm: 88_750, from: 0, to: now + day },
  ],
  at: now,
  now,
  ...over,
});
const seller = question().seller;

describe('which rate', () => {
  it('is that of the tax point: the last second of the usage, the finish of a fee', () => {
    const july = seconds('2025-07-01T00:00:00Z');
    const of = (at: number) => decideTax(question({ at })).ratePpm;
    expect(of(taxPoint({ usagePeriodEnd: july }, july))).toBe(220_000);
    expect(of(taxPoint({}, july))).toBe(240_000);
  });

  it('is taken from the first rule that applies', () => {
    const requested = { taxPercentage: 500, command: 'invoice', byApiKey: false } as const;
    const exemption = { reason: 'embassy', validUntil: 0 };
    const rules = { ...seller, gatewayRules: [{ ...rule, gatewayNames: [], ignoreVatNumber: true }] };
    const all = question({ requested, buyer: { ...business, exemption }, seller: rules });
    const { exemption: _, ...taxable } = all.buyer;
    const { requested: __, ...rest } = all;
    const sources = [all, rest, { ...rest, buyer: taxable }, { ...rest, buyer: taxable, seller }].map(asked =>
      decideTax(asked),
    );
    expect(sources.map(({ source, category, ratePpm }) => [source, category, ratePpm])).toEqual([
      ['request', 'S', 50_000],
      ['exemption', 'E', 0],
      ['gateway_rule', 'S', 70_000],
      ['vies', 'AE', 0],
    ]);
    expect(decideTax(question())).toEqual({
      category: 'S',
      ratePpm: 220_000,
      jurisdiction: 'EE',
      source: 'country',
      reason: 'Standard rate of EE',
      pending: false,
    });
  });

  it.each([
    ['an invoice command, 0 included', 0, 'invoice', false, 'request'],
    ['a subscription command by an API key', 500, 'subscription', true, 'request'],
    ['a subscription command by a member', 500, 'subscription', false, 'country'],
    ['a subscription command by an API key, 0 being not given', 0, 'subscription', true, 'country'],
  ] as const)('a percentage of the request counts for %s', (_, taxPercentage, command, byApiKey, source) => {
    expect(decideTax(question({ requested: { taxPercentage, command, byApiKey } })).source).toBe(source);
  });

  it('is that of an exemption until it ends', () => {
    const exempt = (validUntil: number) =>
      decideTax(question({ buyer: { ...estonian, exemption: { reason: 'embassy', validUntil } } }));
    expect(exempt(now)).toMatchObject({ category: 'E', ratePpm: 0, reason: 'Exempt from tax: embassy' });
    expect(exempt(now - 1)).toMatchObject({ category: 'S', source: 'country' });
  });

  it('is that of a gateway rule for its gateways, countries and, unless it says otherwise, not for reverse charge', () => {
    const ruled = { ...seller, gatewayRules: [rule] };
    const source = (over: Partial<TaxQuestion>) =>
      decideTax(question({ seller: ruled, gatewayName: 'paypal', ...over })).source;
    expect(source({})).toBe('gateway_rule');
    expect(source({ gatewayName: 'stripe' })).toBe('country');
    expect(source({ buyer: { ...estonian, countryCode: 'DE' } })).toBe('country');
    expect(source({ buyer: business })).toBe('vies');
    expect(source({ buyer: business, seller: { ...seller, gatewayRules: [{ ...rule, ignoreVatNumber: true }] } })).toBe(
      'gateway_rule',
    );
  });

  it('is 0 where nothing is known of the country', () => {
    expect(decideTax(question({ buyer: { ...estonian, countryCode: 'BR' } }))).toMatchObject({
      category: 'O',
      ratePpm: 0,
      source: 'none',
      reason: 'No tax rate is set up for BR',
    });
  });
});

describe('reverse charge', () => {
  const withNumber = (number: string, over: object = {}): TaxBuyer => ({
    ...business,
    vatNumber: { number, wellFormed: true, answer: { valid: true, checkedAt: now }, ...over },
  });
  const decided = (buyer: TaxBuyer, from = seller) => decideTax(question({ buyer, seller: from }));

  it('is for businesses with a number of another EU country, Greece (EL) and Northern Ireland (XI) included', () => {
    for (const number of ['EL123456789', 'XI123456789', 'EE123456789']) {
      expect(decided(withNumber(number))).toMatchObject({ category: 'AE', ratePpm: 0, pending: false });
    }
    expect(decided({ ...business, business: false }).category).toBe('S');
    for (const number of ['DE123456789', 'GB123456789', 'CHE123456789']) {
      expect(decided(withNumber(number)).category).toBe('S');
    }
    expect(decided(withNumber('EL123456789'), { ...seller, countryCode: 'GR' }).category).toBe('S');
  });

  it('says so in words on the document', () => {
    expect(decided(withNumber('EE123456789')).reason).toBe(
      'Reverse charge: the recipient is liable for the tax (VAT number EE123456789)',
    );
  });

  it('counts an answer of VIES for 90 days', () => {
    const answered = (valid: boolean, age: number) =>
      decided(withNumber('EE1', { answer: { valid, checkedAt: now - age } }));
    expect(answered(true, 90 * day)).toMatchObject({ category: 'AE', pending: false, source: 'vies' });
    expect(answered(false, 90 * day)).toMatchObject({ category: 'S' });
    expect(answered(true, 90 * day + 1)).toMatchObject({ category: 'AE', pending: true, source: 'vat_number_format' });
  });

  it('is pending without an answer, for a well-formed number, unless the merchant switched that off', () => {
    const unanswered = (wellFormed: boolean) => withNumber('EE1', { wellFormed, answer: undefined });
    expect(decided(unanswered(true))).toMatchObject({ category: 'AE', pending: true });
    expect(decided(unanswered(false))).toMatchObject({ category: 'S', pending: false });
    expect(decided(unanswered(true), { ...seller, reverseChargePending: false })).toMatchObject({ category: 'S' });
  });
});

describe('US sales tax', () => {
  const decided = (over: Partial<TaxQuestion> = {}) => decideTax(question({ buyer: newYorker, ...over }));

  it('is that of the ZIP code, else of the state, while they are in force', () => {
    expect(decided()).toMatchObject({ category: 'S', ratePpm: 88_750, jurisdiction: 'US-NY', source: 'us' });
    expect(decided({ buyer: { ...newYorker, zip: '12345' } })).toMatchObject({ ratePpm: 40_000 });
    expect(decided({ at: now + day })).toMatchObject({ ratePpm: 40_000 });
  });

  it('is none without nexus, without an entered rate, or where it is off', () => {
    const buyer = { ...newYorker, state: 'CA' };
    expect(decided({ buyer })).toMatchObject({ category: 'O', reason: 'No nexus in US-CA' });
    expect(decided({ buyer, merchantUs: { active: true, nexusStates: ['CA'] } })).toMatchObject({
      ratePpm: 0,
      reason: 'No sales tax rate was entered for US-CA',
    });
    expect(decided({ merchantUs: { active: false, nexusStates: ['NY'] } }).reason).toBe(
      'US sales tax is not switched on',
    );
  });

  it("follows the product's configuration before the merchant's", () => {
    expect(decided({ product: { us: { active: true, nexusStates: [] } } }).reason).toBe('No nexus in US-NY');
    expect(decided({ product: { us: { active: false, nexusStates: [] } } }).ratePpm).toBe(88_750);
  });

  it('carries the components of its rate', () => {
    const components = [{ jurisdiction: 'US-NY', ratePpm: 40_000 }];
    const usRates = [{ state: 'NY', zip: '', ratePpm: 40_000, from: 0, components }];
    expect(decided({ usRates }).components).toEqual(components);
  });
});
