import { expect, it } from '@jest/globals';
import { wordGaps } from '../src/testing/index.js';

it('texts that are missing, empty, unknown or have other placeholders are found', () => {
  const english = { same: 'a {one} {two}', missing: 'b', empty: 'c', placed: 'of {name}' };
  const other = { same: '{two} {one} z', empty: ' ', placed: 'von', unknown: 'd' };
  expect(wordGaps(english, other)).toEqual(['missing', 'empty', 'placed', 'unknown']);
  expect(wordGaps(english, english)).toEqual([]);
});
