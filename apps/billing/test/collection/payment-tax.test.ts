import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Address,
  emptyOf,
  type Invoice,
  newCreditRecharge,
  newPayment,
  setNexus,
  setTaxExemption,
  setUsRates,
  UsVatConfig,
  userType,
} from '@recur/contracts';
import { setGatewayRules } from '../../src/tax/settings.js';
import { FakeVies, unknown } from '../tax/fake-vies.js';
import { type Shop, shop } from '../world/shop.js';

let vies: FakeVies;
let s: Shop;
beforeAll(async () => {
  vies = await FakeVies.start();
  s = await shop(undefined, vies.env);
  s.knowPlan(5, { amount: 10_000 });
});
afterAll(async () => {
  await s.t.close();
  await vies.close();
});

/** The invoice of a purchase; its seller is in Germany. */
async function bought(userId: number, over: object = { planId: 5 }): Promise<Invoice> {
  const { invoiceId } = await s.t.done(newPayment, { userId, gatewayId: s.gateway.gatewayId, ...over });
  return s.detail(invoiceId);
}

describe('a purchase that states no rate', () => {
  it("has that of the buyer's country, with its reason, frozen with the parties", async () => {
    const invoice = await bought(s.newUser({ countryCode: 'FI', firstName: 'Aino' }));
    expect(invoice).toMatchObject({
      totalAmount: 12_550,
      taxAmount: 2550,
      taxPercentage: 2550,
      totalAmountExcludingTax: 10_000,
      taxes: [
        {
          category: 'S',
          ratePpm: 255_000,
          net: 10_000,
          tax: 2550,
          jurisdiction: 'FI',
          source: 'country',
          reason: 'Standard rate of FI',
        },
      ],
      merchant: { countryCode: 'DE' },
      userSnapshot: { countryCode: 'FI', firstName: 'Aino' },
    });
    expect(await s.t.rows('select tax_reason from invoice_lines where invoice_id = $1', [invoice.invoiceId])).toEqual([
      { tax_reason: 'Standard rate of FI' },
    ]);
  });

  it('follows exemption and gateway rule, in the order of the rules of tax', async () => {
    const userId = s.newUser({ countryCode: 'FI' });
    const rule = { gatewayNames: 'wire_transfer', validCountryCodes: 'FI', taxPercentage: 700, ignoreVatNumber: false };
    const rules = (set: (typeof rule)[]) =>
      s.t.db.write(s.t.callerOf(), async tx => {
        await setGatewayRules(tx, set);
        tx.log('Tax(rules)', 'Update');
        return {};
      });
    await rules([rule]);
    expect(await bought(userId)).toMatchObject({ taxAmount: 700, taxes: [{ source: 'gateway_rule' }] });
    await s.t.done(setTaxExemption, { userId, exempt: true, reason: 'embassy' });
    expect(await bought(userId)).toMatchObject({
      taxAmount: 0,
      totalAmount: 10_000,
      taxes: [{ category: 'E', source: 'exemption', reason: 'Exempt from tax: embassy' }],
    });
    await rules([]);
  });

  it('is checked against the total that the client states, tax included', async () => {
    const userId = s.newUser({ countryCode: 'FI' });
    const order = { userId, gatewayId: s.gateway.gatewayId, planId: 5, totalAmount: 10_000 };
    expect(await s.t.call(newPayment, order)).toMatchObject({
      issues: [{ path: '/totalAmount', message: 'is 10000, and comes to 12550' }],
    });
    expect(await s.t.call(newPayment, { ...order, totalAmount: 12_550 })).toMatchObject({ ok: true });
  });
});

describe('a purchase that states a rate, or an amount alone', () => {
  it.each([700, 0])('has the stated rate, %i; an amount of an item is whole', async taxPercentage => {
    const userId = s.newUser({ countryCode: 'FI' });
    const items = [{ amount: 0, unitAmountExcludingTax: 1000, taxPercentage }];
    const invoice = await bought(userId, { items, currency: 'EUR' });
    expect(invoice).toMatchObject({ taxAmount: taxPercentage / 10, taxes: [{ source: 'request' }] });
    const decided = await bought(userId, { items: [{ amount: 0, unitAmountExcludingTax: 1000 }], currency: 'EUR' });
    expect(decided).toMatchObject({ taxAmount: 255, taxes: [{ source: 'country' }] });
    const whole = await bought(userId, { items: [{ amount: 1000 }], currency: 'EUR' });
    expect(whole).toMatchObject({ totalAmount: 1000, taxAmount: 0, taxes: [{ category: 'O' }] });
  });

  it('states the whole amount: nothing is added to it', async () => {
    const invoice = await bought(s.newUser({ countryCode: 'FI' }), { totalAmount: 5000, currency: 'EUR' });
    expect(invoice).toMatchObject({ totalAmount: 5000, taxAmount: 0, taxes: [{ category: 'O', source: 'request' }] });
  });

  it('for credit is not taxed: what the credit buys is', async () => {
    const userId = s.newUser({ countryCode: 'FI' });
    const order = { userId, currency: 'EUR', rechargeAmount: 5000, gatewayId: s.gateway.gatewayId };
    const { invoice } = await s.t.done(newCreditRecharge, order);
    expect(invoice).toMatchObject({
      totalAmount: 5000,
      taxAmount: 0,
      taxes: [{ category: 'O', source: 'credit', reason: 'Credit is taxed where it is spent' }],
    });
  });
});

describe('reverse charge on a number that VIES has not confirmed', () => {
  it('is checked again daily; an invalid one is announced, and the document stays', async () => {
    const vat = { type: userType.business, countryCode: 'GR', vATNumber: 'EL 094 259 216' };
    const invoice = await bought(s.newUser(vat));
    expect(invoice).toMatchObject({
      taxAmount: 0,
      totalAmount: 10_000,
      taxes: [{ category: 'AE', source: 'vat_number_format', reason: expect.stringContaining('EL094259216') }],
    });
    await s.t.emitted();
    vies.next = unknown;
    await s.drain();
    expect(vies.asked).toEqual([]);
    s.clock.advance(86_400);
    await s.drain();
    expect(vies.asked).toMatchObject([{ countryCode: 'EL', vatNumber: '094259216' }]);
    expect((await s.t.emitted()).map(({ type }) => type)).toContain('vat.number.invalid');
    expect(await s.detail(invoice.invoiceId)).toMatchObject({ taxes: invoice.taxes, taxAmount: 0 });
    expect(await bought(s.newUser(vat))).toMatchObject({ taxAmount: 2400, taxes: [{ source: 'country' }] });
  });
});

describe('US sales tax', () => {
  const config = { ...emptyOf(UsVatConfig), active: true };
  const newYork = { countryCode: 'US', state: 'NY', zipCode: '10001' };

  it('is that of the product, else of the merchant, in states of nexus', async () => {
    await s.t.done(setUsRates, {
      rates: [
        { state: 'NY', ratePpm: 88_750 },
        { state: 'TX', ratePpm: 62_500 },
      ],
    });
    await s.t.done(setNexus, { nexusAddresses: [{ countryCode: 'US', state: 'TX' }] });
    expect(await bought(s.newUser(newYork))).toMatchObject({ taxAmount: 0, taxes: [{ reason: 'No nexus in US-NY' }] });
    expect(await bought(s.newUser({ countryCode: 'US', state: 'Texas' }))).toMatchObject({ taxAmount: 625 });
    const nexusAddresses = [{ ...emptyOf(Address), countryCode: 'US', state: 'NY' }];
    s.knowPlan(6, { amount: 100_000, productId: 9 });
    s.knowProduct(9, { usVATConfig: { ...config, nexusAddresses } });
    expect(await bought(s.newUser(newYork), { planId: 6 })).toMatchObject({ taxAmount: 8875, totalAmount: 108_875 });
    s.knowPlan(7, { amount: 100_000, productId: 9, usVATConfig: { ...config, nexusAddresses: [] } });
    expect(await bought(s.newUser(newYork), { planId: 7 })).toMatchObject({ taxes: [{ reason: 'No nexus in US-NY' }] });
  });

  it('is refused for a plan whose product catalog does not know', async () => {
    s.knowPlan(8, { productId: 404 });
    const order = { gatewayId: s.gateway.gatewayId, planId: 8 };
    expect(await s.t.call(newPayment, { ...order, userId: s.newUser(newYork) })).toMatchObject({
      slug: 'plan_not_found',
    });
    expect(await s.t.call(newPayment, { ...order, userId: s.newUser({ countryCode: 'FI' }) })).toMatchObject({
      ok: true,
    });
  });
});
