import type { Address } from '@recur/contracts';
import { usStates } from './data/us-states.js';
import { usZips } from './data/us-zips.js';

/** A ZIP code with the place that the table has for it. */
export interface UsPlace {
  /** Five digits. */
  zip: string;
  city: string;
  /** Code, such as NY. */
  state: string;
}

interface Places {
  byZip: Map<string, UsPlace>;
  /** By state and `cityKey`. */
  byCity: Map<string, UsPlace[]>;
}

const codeByName = new Map(Object.entries(usStates).map(([code, name]) => [name.toLowerCase(), code]));

/** The code of a state that is given by code or name, in any case; undefined if there is none. */
export function stateCode(state: string): string | undefined {
  const word = state.trim().replaceAll('.', '').replace(/\s+/g, ' ');
  const code = word.toUpperCase();
  return code in usStates ? code : codeByName.get(word.toLowerCase());
}

/** The place of a ZIP code; the four digits of ZIP+4 are ignored. */
export const placeOfZip = (zip: string): UsPlace | undefined => places().byZip.get(zip.slice(0, 5));

/** The places that a city of a state (code) has, in order of their ZIP codes. */
export const placesOfCity = (city: string, state: string): readonly UsPlace[] =>
  places().byCity.get(`${state} ${cityKey(city)}`) ?? [];

/** True if two names of a city are the same but for spelling: case, punctuation, abbreviations, well-known nicknames. */
const isSameCity = (a: string, b: string): boolean => cityKey(a) === cityKey(b);

const streetWords: Readonly<Record<string, string>> = {
  st: 'saint',
  ste: 'sainte',
  ft: 'fort',
  mt: 'mount',
  mtn: 'mountain',
  pt: 'point',
  n: 'north',
  s: 'south',
  e: 'east',
  w: 'west',
  hts: 'heights',
  spgs: 'springs',
  twp: 'township',
};

/** The table has one name per ZIP code: the one of its post office. */
const nicknames: Readonly<Record<string, string>> = {
  manhattan: 'new york',
  'new york city': 'new york',
  nyc: 'new york',
  la: 'los angeles',
  philly: 'philadelphia',
  sf: 'san francisco',
  'washington dc': 'washington',
  'charlotte amalie': 'saint thomas',
  agana: 'hagatna',
};

function cityKey(city: string): string {
  const plain = city
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’.]/g, '')
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
  const key = plain
    .split(' ')
    .map(word => streetWords[word] ?? word)
    .join(' ');
  return nicknames[key] ?? key;
}

let loadedPlaces: Places | undefined;

/** The table is parsed when it is first used: most processes never need it. */
function places(): Places {
  loadedPlaces ??= parse();
  return loadedPlaces;
}

function parse(): Places {
  const found: Places = { byZip: new Map(), byCity: new Map() };
  for (const [state, text] of Object.entries(usZips)) {
    for (const entry of text.split(';')) {
      const space = entry.lastIndexOf(' ');
      const city = entry.slice(0, space);
      const all = zipsIn(entry.slice(space + 1)).map(zip => ({ zip, city, state }));
      for (const place of all) found.byZip.set(place.zip, place);
      const key = `${state} ${cityKey(city)}`;
      found.byCity.set(key, [...(found.byCity.get(key) ?? []), ...all]);
    }
  }
  return found;
}

/** Reads `10001-10003,10005`. */
function zipsIn(ranges: string): string[] {
  return ranges.split(',').flatMap(range => {
    const [first, last = first] = range.split('-').map(Number);
    if (first === undefined || last === undefined) return [];
    return Array.from({ length: last - first + 1 }, (_, at) => String(first + at).padStart(5, '0'));
  });
}

/** How many ZIP codes of a city are answered for an address without a usable one. */
const maxCandidates = 10;

/**
 * Normalised candidates for a US address: the place of its ZIP code, and where that contradicts the city and state, or is
 * unknown, also the places of these; none for a text that is no ZIP code. `verified` if ZIP code, state and city of the
 * address agree with the table.
 */
export function addressCandidates(given: Address): Address[] {
  const state = stateCode(given.state);
  const zip = zipIn(given.zipCode);
  if (zip === undefined && given.zipCode.trim() !== '') return [];
  const byZip = zip && placeOfZip(zip);
  const ofCity = given.city && state ? placesOfCity(given.city, state) : [];
  if (!byZip) return ofCity.slice(0, maxCandidates).map(place => candidate(given, place, place.zip, false));
  const sameState = state === byZip.state;
  const verified = sameState && isSameCity(given.city, byZip.city);
  const contradicted = given.state !== '' && !sameState;
  const others = contradicted ? ofCity.slice(0, maxCandidates - 1) : [];
  return [candidate(given, byZip, zip, verified), ...others.map(place => candidate(given, place, place.zip, false))];
}

/** The ZIP code in a text, with its four digits if it has them: `10001`, `10001-1234`; undefined if it is none. */
function zipIn(text: string): string | undefined {
  const [, five, four] = /^(\d{5})(?:[- ]?(\d{4}))?$/.exec(text.trim()) ?? [];
  return four === undefined ? five : `${five}-${four}`;
}

const candidate = (given: Address, place: UsPlace, zipCode: string, verified: boolean): Address => ({
  address: given.address.trim().replace(/\s+/g, ' '),
  city: place.city,
  countryCode: 'US',
  state: place.state,
  zipCode,
  verified,
});
