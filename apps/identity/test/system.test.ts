import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemInformation } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../src/service.js';
import { newCompany } from './company.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

describe('system/information', () => {
  it('answers the kind of deployment, its time zones, and its currencies with their divisors', async () => {
    const { key } = await newCompany(t);
    const answer = await t.done(systemInformation, {}, key);
    expect(answer).toMatchObject({ env: 'sandbox', isProd: false });
    expect(answer.supportTimeZone).toEqual(expect.arrayContaining(['Europe/Berlin', 'Asia/Tokyo', 'UTC']));
    expect(answer.supportCurrency).toEqual(
      expect.arrayContaining([
        { Currency: 'USD', Scale: 100, Symbol: '$' },
        { Currency: 'JPY', Scale: 1, Symbol: '¥' },
        { Currency: 'KWD', Scale: 1000, Symbol: 'KWD' },
      ]),
    );
  });
});
