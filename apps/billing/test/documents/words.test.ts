import { describe, expect, it } from '@jest/globals';
import { locales } from '@recur/kernel';
import { wordGaps } from '@recur/platform/testing';
import { documentWords, mailWords } from '../../src/documents/words/words.js';

describe.each([
  ['documents', documentWords],
  ['e-mails', mailWords],
] as const)('the words of %s', (_, all) => {
  it('are there in every language, with the same placeholders', () => {
    expect(Object.keys(all).sort()).toEqual(Object.keys(locales).sort());
    for (const words of Object.values(all)) expect(wordGaps({ ...all.en }, { ...words })).toEqual([]);
  });
});
