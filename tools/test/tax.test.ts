import { describe, expect, it } from '@jest/globals';
import { countriesOf } from '../tax/countries.js';
import { placesOf } from '../tax/usPlaces.js';

describe('the table of countries', () => {
  it('has the dated rates of the source, by day, and corrections before them', () => {
    const before = { '2023-12-31T22:00:00.000Z': { rate: 0.2 }, '2025-06-30T21:00:00.000Z': { rate: 0.22 } };
    const codes = [
      ['RO', 'ROU', '642'],
      ['EE', 'EST', '233'],
      ['US', 'USA', '840'],
    ];
    const rates = { EE: { rate: 0.24, before }, RO: { rate: 0.2 }, US: { rate: 0 } };
    const names = { EE: 'Estonia', RO: 'Romania', US: ['United States of America', 'United States'] };
    expect(countriesOf({ rates, regions: { EU: ['EE', 'RO'] }, codes, names })).toEqual([
      { code: 'EE', id: 233, name: 'Estonia', eu: true, rates: '200000 2024-01-01:220000 2025-07-01:240000' },
      { code: 'RO', id: 642, name: 'Romania', eu: true, rates: '190000 2025-08-01:210000' },
      { code: 'US', id: 840, name: 'United States' },
    ]);
  });
});

describe('the table of ZIP codes', () => {
  it('groups them by state and place, in ranges, with areas of military mail', () => {
    const row = (zip: string, city: string, name = '', state = '') => `US\t${zip}\t${city}\t${name}\t${state}\tx\t1`;
    const text = [
      row('10003', 'New York', 'New York', 'NY'),
      row('10001', 'New York', 'New York', 'NY'),
      row('10002', 'New York', 'New York', 'NY'),
      row('12207', 'Albany', 'New York', 'NY'),
      row('00501', 'Holtsville', 'New York', 'NY'),
      row('09001', 'APO AA'),
      row('96860', 'Jbphh', 'Hawaii', 'HI'),
      row('96860', 'FPO AA'),
    ];
    const others = [
      { zip: '96910', city: 'Hagatna', state: 'GU' },
      { zip: '10001', city: 'Gotham', state: 'NY' },
    ];
    expect(Object.fromEntries(placesOf(`${text.join('\n')}\n`, others))).toEqual({
      AE: 'APO 09001',
      GU: 'Hagatna 96910',
      HI: 'Jbphh 96860',
      NY: 'Albany 12207;Holtsville 00501;New York 10001-10003',
    });
  });
});
