import type { Address } from '@recur/contracts';
import { isSameCity, placeOfZip, placesOfCity, stateCode, type UsPlace } from './us-places.js';

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
