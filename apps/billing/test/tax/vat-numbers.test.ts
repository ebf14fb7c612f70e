import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { listVatNumberValidations, setupVatGateway, validateVatNumber } from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { config } from '../../src/config.js';
import { billing } from '../../src/service.js';
import { answerAbout, markPending } from '../../src/tax/vat-numbers.js';
import { FakeVies, failing, known, unknown } from './fake-vies.js';

const day = 86_400;
const clock = new MovableClock();
let vies: FakeVies;
let t: TestService;
beforeAll(async () => {
  vies = await FakeVies.start();
  t = await testService(billing, { clock, env: vies.env });
});
afterAll(async () => {
  await t.close();
  await vies.close();
});
afterEach(() => {
  vies.next = known;
  vies.asked.length = 0;
});

const validate = async (vatNumber: string, merchantId = 15) =>
  (await t.done(validateVatNumber, { vatNumber }, { merchantId })).vatNumberValidate;
const history = (input: object = {}, merchantId = 15) => t.done(listVatNumberValidations, input, { merchantId });
const answer = (number: string) => t.db.read(t.callerOf(), reader => answerAbout(reader, number));
const pend = (number: string, of = t) =>
  of.db.write(of.callerOf(), async tx => {
    await markPending(tx, number);
    tx.log('VatNumber(test)', 'Pend');
    return {};
  });
/** The number again, if it is still pending a day later. */
const recheck = async (number: string, of = t) => {
  clock.advance(day);
  await of.work.drain();
  return (await of.rows('select number from vat_numbers where number = $1 and pending_since > 0', [number])).map(
    row => row.number,
  );
};
const changes = async () => (await t.emitted()).filter(({ type }) => type !== 'operation.logged');

describe('vat_number_validate', () => {
  it('asks VIES, and remembers its answer for 90 days', async () => {
    const first = await validate('ee 100 931 558');
    expect(first).toEqual({
      vatNumber: 'EE100931558',
      countryCode: 'EE',
      valid: true,
      validateMessage: 'VIES says that the number is valid',
      underMaintenance: false,
      companyName: 'ACME OÜ',
      companyAddress: 'Narva mnt 1\nTallinn',
    });
    expect(vies.asked).toEqual([{ countryCode: 'EE', vatNumber: '100931558' }]);
    expect(await t.emitted()).toMatchObject([
      { type: 'operation.logged', data: { target: 'VatNumber(EE100931558)', content: 'Check' } },
    ]);
    clock.advance(90 * day);
    expect(await validate('EE100931558')).toEqual(first);
    expect(vies.asked).toHaveLength(1);
    expect(await t.emitted()).toEqual([]);
    clock.advance(1);
    vies.next = unknown;
    expect(await validate('EE100931558')).toMatchObject({
      valid: false,
      validateMessage: 'VIES says that the number is invalid',
      companyName: '',
      companyAddress: '',
    });
    expect(vies.asked).toHaveLength(2);
    expect(await answer('EE100931558')).toMatchObject({ valid: false });
  });

  it.each([
    ['a register that is away', failing('MS_UNAVAILABLE'), 'MS_UNAVAILABLE'],
    ['too many requests', failing('MS_MAX_CONCURRENT_REQ'), 'MS_MAX_CONCURRENT_REQ'],
    ['nonsense', () => ({ status: 502, body: '<html>' }), 'HTTP 502'],
    ['an answer without a verdict', () => ({ body: { valid: 'yes' } }), 'HTTP 200'],
  ])('goes by format and checksum, and asks again next time, at %s', async (_, next, detail) => {
    vies.next = next;
    for (const times of [1, 2]) {
      expect(await validate('LU15027442')).toMatchObject({
        valid: true,
        underMaintenance: true,
        validateMessage: `Format and checksum are valid; VIES could not be asked (${detail})`,
      });
      expect(vies.asked).toHaveLength(times);
    }
    expect(await answer('LU15027442')).toBeUndefined();
  });

  it('takes a number that VIES cannot read for an invalid one', async () => {
    vies.next = failing('INVALID_INPUT');
    expect(await validate('SI50223054')).toMatchObject({ valid: false, underMaintenance: false });
  });

  it('does not ask VIES about what is malformed or not in it', async () => {
    expect(await validate('EE100931559')).toMatchObject({ valid: false, countryCode: 'EE' });
    expect(await validate('GB980780684')).toMatchObject({ valid: true, countryCode: 'GB', underMaintenance: false });
    expect(await validate('12345')).toMatchObject({ valid: false, countryCode: '' });
    expect(vies.asked).toEqual([]);
  });

  it('names the merchant to VIES where its own number is set up', async () => {
    const setup = (data: string) => t.call(setupVatGateway, { gatewayName: 'vies', data, IsDefault: true });
    expect(await setup('DE136695977')).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/data' }] });
    expect(await setup('GB980780684')).toMatchObject({ slug: 'invalid_parameters' });
    expect(await setup('de 136 695 976')).toMatchObject({ ok: true, data: { data: 'DE136695976' } });
    await validate('DK13585628');
    const requester = { requesterMemberStateCode: 'DE', requesterNumber: '136695976' };
    expect(vies.asked).toEqual([{ countryCode: 'DK', vatNumber: '13585628', ...requester }]);
    expect(await setup('')).toMatchObject({ ok: true, data: { data: '' } });
  });

  it('repeats its answer under one key, and leaves one check', async () => {
    const caller = { idempotencyKey: 'check' };
    const [first, second] = [
      await t.call(validateVatNumber, { vatNumber: 'PL8567346215' }, caller),
      await t.call(validateVatNumber, { vatNumber: 'PL8567346215' }, caller),
    ];
    expect(second).toMatchObject({ ok: true, data: first.ok ? first.data : {} });
    expect((await history({ searchKey: 'PL8567346215' })).total).toBe(1);
  });

  it('can be raced', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => validate('FI20774740')));
    expect(new Set(all.map(({ valid }) => valid))).toEqual(new Set([true]));
    expect(await t.rows(`select number from vat_numbers where number = 'FI20774740'`)).toHaveLength(1);
  });
});

describe('vat_number_validate_history', () => {
  it('has the checks of the merchant, newest first, by part of number or name and by time', async () => {
    await validate('SE123456789701', 16);
    clock.advance(day);
    await validate('HR33392005961', 16);
    const all = await history({}, 16);
    expect(all).toMatchObject({ total: 2, numberValidateHistoryList: [{ vatNumber: 'HR33392005961' }, {}] });
    expect(await history({ searchKey: 'acme', count: 1 }, 16)).toMatchObject({ total: 2 });
    expect(await history({ searchKey: 'se1234' }, 16)).toMatchObject({ total: 1 });
    expect(await history({ searchKey: '%' }, 16)).toMatchObject({ total: 0 });
    const [newest] = all.numberValidateHistoryList;
    expect(await history({ createTimeStart: newest?.createTime }, 16)).toMatchObject({ total: 1 });
    expect(await history({ createTimeEnd: (newest?.createTime ?? 0) - 1 }, 16)).toMatchObject({ total: 1 });
  });
});

describe('a pending number', () => {
  it('that VIES confirms is settled without an event', async () => {
    await pend('NL004495445B01');
    await pend('NL004495445B01');
    await t.emitted();
    expect(await recheck('NL004495445B01')).toEqual([]);
    expect(await answer('NL004495445B01')).toMatchObject({ valid: true });
    expect(await changes()).toEqual([]);
  });

  it('stays pending while VIES cannot answer', async () => {
    await pend('BE0403019261');
    vies.next = failing('MS_UNAVAILABLE');
    expect(await recheck('BE0403019261')).toEqual(['BE0403019261']);
    expect(await answer('BE0403019261')).toBeUndefined();
    expect(await recheck('BE0403019261')).toEqual(['BE0403019261']);
    expect(vies.asked).toHaveLength(2);
    vies.next = known;
    expect(await recheck('BE0403019261')).toEqual([]);
    expect(await recheck('BE0403019261')).toEqual([]);
    expect(vies.asked).toHaveLength(3);
  });

  it('that VIES does not know is announced by an event, once', async () => {
    await pend('ATU13585627');
    const pendingSince = clock.now();
    clock.advance(day);
    await t.emitted();
    vies.next = unknown;
    expect(await recheck('ATU13585627')).toEqual([]);
    expect(await changes()).toMatchObject([
      {
        type: 'vat.number.invalid',
        aggregate: 'vat_number',
        aggregateId: 'ATU13585627',
        version: 1,
        data: { number: 'ATU13585627', countryCode: 'AT', valid: false, pendingSince, checkTime: clock.now() },
      },
    ]);
    expect(await recheck('ATU13585627')).toEqual([]);
    expect(await changes()).toEqual([]);
    await pend('ATU13585627');
    await recheck('ATU13585627');
    expect(await changes()).toMatchObject([{ version: 2 }]);
  });

  it('is announced too when a check by hand finds it out', async () => {
    await pend('IE6433435F');
    await t.emitted();
    vies.next = unknown;
    expect(await validate('IE6433435F')).toMatchObject({ valid: false });
    expect(await changes()).toMatchObject([{ type: 'vat.number.invalid', aggregateId: 'IE6433435F' }]);
  });
});

describe('without VIES_URL', () => {
  it('numbers go by format and checksum, and pending ones stay pending', async () => {
    const off = await testService(billing, { clock });
    try {
      const input = { vatNumber: 'EE100931558' };
      const { vatNumberValidate } = await off.done(validateVatNumber, input);
      expect(vatNumberValidate).toMatchObject({
        valid: true,
        underMaintenance: false,
        validateMessage: 'Format and checksum are valid; VIES was not asked',
      });
      expect(await off.done(validateVatNumber, input)).toEqual({ vatNumberValidate });
      expect((await off.done(listVatNumberValidations, {})).total).toBe(1);
      await pend('EE100931558', off);
      expect(await recheck('EE100931558', off)).toEqual(['EE100931558']);
    } finally {
      await off.close();
    }
  });

  it('and with one that is not public, or not https in production, the service does not start', () => {
    const set = {
      RECUR_ENV: 'production',
      NATS_URL: 'x',
      DATABASE_URL: 'postgres://x/y',
      SECRET_KEYS: `k:${'A'.repeat(43)}=`,
      CALLER_KEY: `${'A'.repeat(43)}=`,
    };
    const problems = (VIES_URL: string, more: object = {}) =>
      config.safeParse({ ...set, VIES_URL, ...more }).error?.issues.map(({ path: at }) => at.join());
    expect(problems('https://ec.europa.eu/taxation_customs/vies/rest-api')).toBeUndefined();
    expect(problems('http://ec.europa.eu/vies')).toEqual(['VIES_URL']);
    expect(problems('http://127.0.0.1/vies', { RECUR_ENV: 'sandbox' })).toEqual(['VIES_URL']);
    expect(problems('https://ec.europa.eu/vies', { VIES_ALLOW_LOOPBACK: 'true' })).toEqual(['VIES_ALLOW_LOOPBACK']);
  });
});
