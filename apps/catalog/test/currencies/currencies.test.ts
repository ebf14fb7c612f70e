import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exchangeAmount, exchangeRate, setupMultiCurrencies } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { Rates } from '../../src/currencies/rates/rates.js';
import { readRates } from '../../src/currencies/rates/xml.js';
import { catalog } from '../../src/service.js';
import { fileOf } from './rates/files.js';

let t: TestService;
const clock = new MovableClock();
let merchantId = 50;
let caller = { merchantId };

beforeAll(async () => {
  t = await testService(catalog, { clock });
  await take('2026-01-15', { USD: '1.0456', JPY: '163.21', IDR: '17054.32', GBP: '0.84' });
});
afterAll(() => t.close());
beforeEach(async () => {
  caller = { merchantId: ++merchantId };
  await t.emitted();
});

async function take(day: string, rates: Record<string, string>) {
  const { table, problem } = readRates(fileOf(day, rates));
  if (!table) throw new Error(problem);
  return t.app.get(Rates).take(table);
}
const setup = (...multiCurrencyConfigs: object[]) => t.done(setupMultiCurrencies, { multiCurrencyConfigs }, caller);
const usd = (...currencyConfigs: object[]) => setup({ defaultCurrency: 'usd', currencyConfigs });
const exchange = async (amount: number, currency = 'USD') =>
  (await t.done(exchangeAmount, { amount, currency }, caller)).multiCurrencyConfigs;
const refused = async (...multiCurrencyConfigs: unknown[]) => {
  const result = await t.call(setupMultiCurrencies, { multiCurrencyConfigs }, caller);
  return result.ok ? 'accepted' : [result.slug, ...result.issues.map(({ path }) => path).sort()];
};
const versions = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);

describe('setup_multi_currencies', () => {
  it('keeps the rule sets, upper-cased, with all their fields; tells others and logs it', async () => {
    const configs = [
      { currency: 'jpy', exchangeRate: 149.5, fixedAmount: 500 },
      { currency: 'EUR', autoExchange: true },
    ];
    const sets = await setup({ defaultCurrency: 'usd', name: 'Dollars', lastUpdateTime: 3, currencyConfigs: configs });
    const empty = { autoExchange: false, exchangeRate: 0, fixedAmount: 0, disable: false };
    expect(sets).toEqual({
      multiCurrencyConfigs: [
        {
          defaultCurrency: 'USD',
          name: 'Dollars',
          lastUpdateTime: clock.now(),
          currencyConfigs: [
            { ...empty, currency: 'JPY', exchangeRate: 149.5, fixedAmount: 500 },
            { ...empty, currency: 'EUR', autoExchange: true },
          ],
        },
      ],
    });
    const [updated, logged, ...more] = await t.emitted();
    expect(updated).toMatchObject({ type: 'currency.updated', aggregate: 'currency', version: 1, data: sets });
    expect(logged).toMatchObject({ data: { target: 'MultiCurrencies', content: 'Update' } });
    expect(more).toEqual([]);
  });

  it('replaces what there was; a set that stays as it is keeps its time, and nothing changed is nothing told', async () => {
    const [dollars, euros] = [
      { defaultCurrency: 'USD', currencyConfigs: [{ currency: 'JPY', exchangeRate: 149.5 }] },
      { defaultCurrency: 'EUR', currencyConfigs: [{ currency: 'JPY', exchangeRate: 163 }] },
    ];
    const first = await setup(dollars, euros);
    clock.advance(100);
    expect(await setup(...first.multiCurrencyConfigs)).toEqual(first);
    expect(await t.done(setupMultiCurrencies, {}, caller)).toEqual(first);
    expect(await versions()).toEqual(['currency.updated 1', 'operation.logged 1']);
    const second = await setup(euros, { ...dollars, name: 'Dollars' });
    expect(
      second.multiCurrencyConfigs.map(({ defaultCurrency, lastUpdateTime }) => [defaultCurrency, lastUpdateTime]),
    ).toEqual([
      ['EUR', clock.now() - 100],
      ['USD', clock.now()],
    ]);
    expect(await setup()).toEqual({ multiCurrencyConfigs: [] });
    expect(await exchange(100)).toEqual([]);
    expect(await versions()).toEqual([
      'currency.updated 2',
      'operation.logged 1',
      'currency.updated 3',
      'operation.logged 1',
    ]);
  });

  it('names every field that is wrong', async () => {
    const config = { currency: 'JPY', exchangeRate: 1 };
    const set = (...currencyConfigs: unknown[]) => ({ defaultCurrency: 'USD', currencyConfigs });
    expect(await refused(set(config), set(config))).toEqual(['invalid_parameters', '/multiCurrencyConfigs']);
    expect(await refused(set(config, { ...config, currency: 'jpy' }))).toEqual([
      'invalid_parameters',
      '/multiCurrencyConfigs/0/currencyConfigs',
    ]);
    const at = '/multiCurrencyConfigs/0/currencyConfigs';
    expect(
      await refused({
        ...set(
          { currency: 'JPY' },
          { currency: 'XXX', exchangeRate: -1 },
          { currency: 'EUR', exchangeRate: '1' },
          { currency: 'GBP', exchangeRate: 1e-13 },
          { currency: 'CHF', exchangeRate: 1e10, fixedAmount: -1 },
          { currency: 'SEK', exchangeRate: 1.5, autoExchange: 'yes', disable: 1 },
        ),
        defaultCurrency: 'dollar',
      }),
    ).toEqual([
      'invalid_parameters',
      `${at}/0/exchangeRate`,
      `${at}/1/currency`,
      `${at}/1/exchangeRate`,
      `${at}/2/exchangeRate`,
      `${at}/3/exchangeRate`,
      `${at}/4/exchangeRate`,
      `${at}/4/fixedAmount`,
      `${at}/5/autoExchange`,
      `${at}/5/disable`,
      '/multiCurrencyConfigs/0/defaultCurrency',
    ]);
    expect(await refused(set({ currency: 'JPY', disable: true }, { currency: 'EUR', fixedAmount: 5 }))).toBe(
      'accepted',
    );
    expect(await refused(set({ currency: 'JPY', exchangeRate: 0.123456789012 }))).toBe('accepted');
  });

  it('has one of 64 that come at once stand in the end, each told in turn', async () => {
    const all = Array.from({ length: 64 }, (_, at) => usd({ currency: 'JPY', exchangeRate: at + 1 }));
    const answers = await Promise.all(all);
    const events = (await t.emitted()).filter(({ type }) => type === 'currency.updated');
    expect(events.map(({ version }) => version)).toEqual(all.map((_, at) => at + 1));
    const last = await t.done(setupMultiCurrencies, {}, caller);
    expect(events.at(-1)?.data).toEqual(last);
    expect(answers).toContainEqual(last);
  });
});

describe('amount_multi_currencies_exchange', () => {
  it('converts between minor units, rounded once, halves away from zero', async () => {
    await setup(
      { defaultCurrency: 'USD', currencyConfigs: [{ currency: 'JPY', exchangeRate: 149.5 }] },
      { defaultCurrency: 'JPY', currencyConfigs: [{ currency: 'KWD', exchangeRate: 0.0021 }] },
    );
    const empty = { autoExchange: false, disable: false, fixedAmount: 0 };
    expect(await exchange(100)).toEqual([{ ...empty, currency: 'JPY', exchangeRate: 149.5, amount: 150 }]);
    expect(await exchange(-100)).toMatchObject([{ amount: -150 }]);
    expect(await exchange(0)).toMatchObject([{ amount: 0 }]);
    expect(await exchange(1_000, 'jpy')).toMatchObject([{ currency: 'KWD', amount: 2_100 }]);
  });

  it('answers nothing where there are no rules for the currency', async () => {
    expect(await exchange(100)).toEqual([]);
    await usd({ currency: 'JPY', exchangeRate: 149.5 });
    expect(await exchange(100, 'EUR')).toEqual([]);
  });

  it('takes a manual rate before that of the table, leaves out what is disabled, and keeps the order', async () => {
    await usd(
      { currency: 'JPY', exchangeRate: 2, autoExchange: true },
      { currency: 'CHF', exchangeRate: 3, disable: true },
      { currency: 'GBP', autoExchange: true },
      { currency: 'EUR', exchangeRate: 0.5, fixedAmount: 777 },
    );
    expect(await exchange(1_000)).toEqual([
      { currency: 'JPY', amount: 20, exchangeRate: 2, autoExchange: true, disable: false, fixedAmount: 0 },
      {
        currency: 'GBP',
        amount: 803,
        exchangeRate: 0.803366488141,
        autoExchange: true,
        disable: false,
        fixedAmount: 0,
      },
      { currency: 'EUR', amount: 500, exchangeRate: 0.5, autoExchange: false, disable: false, fixedAmount: 777 },
    ]);
  });

  it('converts by what it shows: a cross rate of 12 digits', async () => {
    await usd({ currency: 'EUR', autoExchange: true }, { currency: 'JPY', autoExchange: true });
    const [euro, yen] = await exchange(100_000_000);
    expect([euro?.exchangeRate, euro?.amount]).toEqual([0.956388676358, 95_638_868]);
    expect([yen?.exchangeRate, yen?.amount]).toEqual([156.092195868401, 156_092_196]);
  });

  it('answers a fixed amount where no rate is known, and leaves out what has neither', async () => {
    await usd(
      { currency: 'KWD', autoExchange: true },
      { currency: 'BHD', autoExchange: true, fixedAmount: 9 },
      { currency: 'SEK', fixedAmount: 5 },
    );
    const fixed = { exchangeRate: 0, disable: false };
    expect(await exchange(100)).toEqual([
      { ...fixed, currency: 'BHD', amount: 9, fixedAmount: 9, autoExchange: true },
      { ...fixed, currency: 'SEK', amount: 5, fixedAmount: 5, autoExchange: false },
    ]);
  });

  it('refuses an amount that would be too large, and what is no amount or currency', async () => {
    await usd({ currency: 'JPY', exchangeRate: 1_000 });
    const most = Number.MAX_SAFE_INTEGER;
    expect(await t.call(exchangeAmount, { amount: most, currency: 'USD' }, caller)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/amount' }],
    });
    expect(await t.call(exchangeAmount, { amount: 1.5, currency: 'US' }, caller)).toMatchObject({
      issues: [{ path: '/amount' }, { path: '/currency' }],
    });
    expect(await t.call(exchangeAmount, {}, caller)).toMatchObject({
      issues: [{ path: '/amount' }, { path: '/currency' }],
    });
  });
});

describe('get_exchange_rate', () => {
  const rate = (fromCurrency: string, toCurrency: string) => t.call(exchangeRate, { fromCurrency, toCurrency }, caller);
  const bank = { source: 'European Central Bank', rateTime: Date.UTC(2026, 0, 15) / 1000 };

  it('answers the rate of the table with its source and time', async () => {
    const data = { fromCurrency: 'USD', toCurrency: 'JPY', exchangeRate: 156.092195868401, ...bank };
    expect(await rate('usd', 'jpy')).toEqual({ ok: true, data });
    expect(await rate('EUR', 'USD')).toMatchObject({ data: { exchangeRate: 1.0456, ...bank } });
    expect(await rate('USD', 'USD')).toMatchObject({ data: { exchangeRate: 1 } });
  });

  it("answers the merchant's own before it, unless it is disabled", async () => {
    clock.advance(7);
    await usd({ currency: 'JPY', exchangeRate: 2 }, { currency: 'GBP', exchangeRate: 3, disable: true });
    expect(await rate('USD', 'JPY')).toMatchObject({
      data: { exchangeRate: 2, source: 'manual', rateTime: clock.now() },
    });
    expect(await rate('USD', 'GBP')).toMatchObject({ data: { exchangeRate: 0.803366488141, ...bank } });
    expect(await rate('JPY', 'USD')).toMatchObject({ data: bank });
  });

  it('knows no other', async () => {
    expect(await rate('USD', 'KWD')).toMatchObject({
      slug: 'exchange_rate_not_found',
      message: 'No rate from USD to KWD is known',
    });
    expect(await t.call(exchangeRate, { fromCurrency: 'XXX' }, caller)).toMatchObject({
      issues: [{ path: '/fromCurrency' }, { path: '/toCurrency' }],
    });
  });

  it('is the one that amounts are converted by, whatever its size', async () => {
    await usd({ currency: 'IDR', autoExchange: true });
    const [config] = await exchange(100);
    const shown = await rate('USD', 'IDR');
    expect(shown).toMatchObject({ data: { exchangeRate: config?.exchangeRate } });
    expect(config?.exchangeRate).toBeCloseTo(17054.32 / 1.0456, 9);
  });
});
