import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { createClient } from '@recur/client';
import { checkoutRoot } from '../../../local/home.js';
import { scenarioOf } from '../../../simulate/scenario.js';
import { lived } from '../../../simulate/simulate.js';
import { invoiceEntries } from '../../../simulate/timeline.js';
import { sharedStand } from '../stand.js';

/** Lines of the invoices of `npm run simulate -- usage`, by the day on which each is made. */
const year = {
  0: ['10.00 EUR  small'],
  30: ['10.00 EUR  small', '12.50 EUR  150 × calls, day 0 – day 30'],
  60: ['10.00 EUR  small', '2.00 EUR  20 × calls, day 30 – day 60', '0.50 EUR  10 × calls, day 0 – day 30'],
  90: ['10.00 EUR  small', '4.00 EUR  40 × calls, day 60 – day 90', '−2.50 EUR  -50 × calls, day 0 – day 30'],
  105: ['−5.00 EUR  small', '15.00 EUR  medium', '8.00 EUR  80 × calls, day 90 – day 105'],
  120: ['30.00 EUR  medium', '4.80 EUR  60 × calls, day 105 – day 120'],
  150: ['30.00 EUR  medium'],
  180: ['30.00 EUR  medium'],
  195: ['−15.00 EUR  medium', '30.00 EUR  large'],
  210: ['60.00 EUR  large', '8.00 EUR  100 × calls, day 180 – day 210'],
  240: ['60.00 EUR  large'],
  270: ['60.00 EUR  large'],
  300: ['60.00 EUR  large', '100.00 EUR  1250 × calls, day 270 – day 300'],
  330: ['60.00 EUR  large'],
  360: ['60.00 EUR  large'],
};

it('a metered year bills what its scenario says', async () => {
  const { stack } = await sharedStand();
  const { apiKey } = await stack.merchant('A metered year');
  const api = createClient({ baseUrl: stack.facts().baseUrl, credential: apiKey });
  const file = path.join(checkoutRoot(), 'tools/simulate/scenarios/usage.yaml');
  await lived(api, scenarioOf(readFileSync(file, 'utf8')), () => undefined);
  const entries = (await invoiceEntries(api)).toSorted((a, b) => a.at - b.at);
  const start = entries[0]?.at ?? 0;
  const day = (at: number) => Math.floor((at - start + 60) / 86_400);
  const days = (text: string) =>
    text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, at => `day ${day(Date.parse(`${at.replace(' ', 'T')}Z`) / 1000)}`);
  const bills = entries.map(({ at, line }) => {
    const [, ...lines] = line.split('\n');
    return [day(at), lines.map(each => days(each.trim()))];
  });
  expect(Object.fromEntries(bills)).toEqual(year);
  expect(entries.every(({ line }) => line.includes('now paid\n'))).toBe(true);
});
