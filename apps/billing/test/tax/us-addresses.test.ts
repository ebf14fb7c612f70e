import { describe, expect, it } from '@jest/globals';
import { addressCandidates, placeOfZip, placesOfCity, stateCode } from '../../src/tax/us-places.js';

const given = { address: '350  5th Ave ', city: 'New York', countryCode: 'US', state: 'NY', zipCode: '10118' };
const candidates = (over: Partial<typeof given> & { verified?: boolean } = {}) =>
  addressCandidates({ verified: false, ...given, ...over });

describe('candidates for a US address', () => {
  it('are the address itself, normalised and verified, where ZIP, state and city agree', () => {
    const normal = { ...given, address: '350 5th Ave', verified: true };
    expect(candidates()).toEqual([normal]);
    for (const state of ['ny', 'New York', ' new  york ', 'N.Y.']) expect(candidates({ state })).toEqual([normal]);
    for (const city of ['NEW YORK', 'new york city', 'Manhattan', 'NYC'])
      expect(candidates({ city })).toEqual([normal]);
    for (const zipCode of ['10118-0110', '10118 0110', '101180110']) {
      expect(candidates({ zipCode })).toEqual([{ ...normal, zipCode: '10118-0110' }]);
    }
  });

  it.each([
    ['st louis', 'MO', '63101', 'Saint Louis'],
    ['St. Louis', 'Missouri', '63101', 'Saint Louis'],
    ['Fort Worth', 'TX', '76102', 'Fort Worth'],
    ['Ft Worth', 'TX', '76102', 'Fort Worth'],
    ["Coeur D'Alene", 'ID', '83814', 'Coeur d Alene'],
    ['Washington, DC', 'District of Columbia', '20500', 'Washington'],
  ])('accept %s, %s %s', (city, state, zipCode, name) => {
    const [first, ...more] = candidates({ city, state, zipCode });
    expect(more).toEqual([]);
    expect([first?.verified, first?.city.replace(/['’]/g, ' ').replace('St.', 'Saint')]).toEqual([true, name]);
  });

  it('are unverified where something is missing or differs, with the place of the ZIP code first', () => {
    const place = { city: 'New York', state: 'NY', zipCode: '10118', verified: false };
    expect(candidates({ city: 'Albany' })).toMatchObject([place]);
    expect(candidates({ state: '' })).toMatchObject([place]);
    expect(candidates({ city: '', verified: true })).toMatchObject([place]);
    const [first, second] = candidates({ city: 'Beverly Hills', state: 'CA' });
    expect(first).toMatchObject(place);
    expect(second).toMatchObject({ city: 'Beverly Hills', state: 'CA', zipCode: '90209', verified: false });
  });

  it('are the places of the city where the ZIP code is missing or unknown', () => {
    for (const zipCode of ['', '00000']) {
      expect(candidates({ city: 'beverly hills', state: 'california', zipCode }).map(one => one.zipCode)).toEqual([
        '90209',
        '90210',
        '90211',
        '90212',
        '90213',
      ]);
    }
    expect(candidates({ zipCode: '' })).toHaveLength(10);
  });

  it('are none for what is no ZIP code', () => {
    for (const zipCode of ['9021', '902100', 'ABCDE', '90210-12', '9O210']) {
      expect(candidates({ city: 'beverly hills', state: 'california', zipCode })).toEqual([]);
    }
  });

  it.each([
    ['San Juan', 'Puerto Rico', '00901'],
    ['Ponce', 'PR', '00716'],
    ['Charlotte Amalie', 'VI', '00802'],
    ['Christiansted', 'United States Virgin Islands', '00820'],
    ['Tamuning', 'GU', '96931'],
    ['Pago Pago', 'American Samoa', '96799'],
    ['Saipan', 'MP', '96950-1234'],
    ['APO', 'AE', '09012'],
  ])('know the territories and military post: %s, %s %s', (city, state, zipCode) => {
    expect(candidates({ city, state, zipCode })).toMatchObject([{ zipCode, verified: true }]);
  });

  it('are none where nothing is known', () => {
    expect(candidates({ city: 'Atlantis', zipCode: '' })).toEqual([]);
    expect(candidates({ state: 'XX', zipCode: '' })).toEqual([]);
    expect(candidates({ city: '', state: '', zipCode: '' })).toEqual([]);
  });
});

describe('the table of ZIP codes', () => {
  it('has leading zeros, military mail and one place for each ZIP code', () => {
    expect(placeOfZip('00501')).toEqual({ zip: '00501', city: 'Holtsville', state: 'NY' });
    expect(placeOfZip('09012')).toMatchObject({ city: 'APO', state: 'AE' });
    expect(placeOfZip('02108-1234')).toMatchObject({ state: 'MA' });
    let known = 0;
    for (let zip = 0; zip < 100_000; zip++) {
      const place = placeOfZip(String(zip).padStart(5, '0'));
      if (!place) continue;
      known++;
      if (stateCode(place.state) !== place.state) throw new Error(`${place.zip} is in ${place.state}`);
    }
    expect(known).toBe(41_697);
    expect(placesOfCity('Beverly Hills', 'CA')).toHaveLength(5);
  });
});
