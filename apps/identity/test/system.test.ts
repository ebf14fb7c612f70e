import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getLicense, systemInformation } from '@recur/contracts';
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

describe('merchant/get_license', () => {
  it('names the licence of the file LICENSE, which limits nothing', async () => {
    const { key } = await newCompany(t);
    const { license } = await t.done(getLicense, {}, key);
    expect(license).toEqual({
      name: 'Apache-2.0',
      url: 'https://www.apache.org/licenses/LICENSE-2.0',
      unlimited: true,
    });
    const root = new URL('../../../', import.meta.url);
    expect(readFileSync(new URL('LICENSE', root), 'utf8')).toMatch(/^\s+Apache License\s+Version 2\.0,/);
    expect(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')).license).toBe(license.name);
  });
});
