import { describe, expect, it } from '@jest/globals';
import { bounded, shortened } from '../../src/documents/bounds.js';
import type { DocumentContent } from '../../src/documents/content.js';
import { renderPdf } from '../../src/documents/pdf/render.js';
import { pagesOf } from './pdf-text.js';
import { bank, content, line } from './samples.js';

const signs = (text: string) => [...new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)];
const family = '👩‍👩‍👧‍👦';
const flag = '🇩🇪';
const accented = `e${'\u0301'.repeat(7)}`;
const lone = /\p{Cs}/u;

describe('a text that is cut', () => {
  it('ends with an ellipsis between two signs, whatever they are made of', () => {
    const texts = [family, flag, accented, '𝄞', 'نّ', 'ที่', '한', 'a\r\n', `${flag}${family}a${accented}`];
    for (const text of texts.map(sign => sign.repeat(80))) {
      for (let most = 1; most <= 60; most++) {
        const cut = shortened(text, most);
        expect(cut.length).toBeLessThanOrEqual(most + 1);
        expect(cut).not.toMatch(lone);
        expect(cut.endsWith('…')).toBe(true);
        const kept = cut.slice(0, -1);
        expect(text.startsWith(kept)).toBe(true);
        // the signs that are left are the first ones of the text
        const whole = signs(text).slice(0, signs(kept).length);
        expect(signs(kept).map(({ segment }) => segment.trimEnd())).toEqual(
          whole.map(({ segment }) => segment.trimEnd()).slice(0, signs(kept).length),
        );
      }
    }
  });

  it('is whole where it fits, and nothing but the ellipsis where its first sign does not', () => {
    expect(shortened(family, family.length)).toBe(family);
    expect(shortened(family.repeat(2), family.length)).toBe(`${family}…`);
    expect(shortened(`e${'\u0301'.repeat(10_000)}`, 100)).toBe('…');
    expect(shortened('abc', 3)).toBe('abc');
    expect(shortened('abcd', 3)).toBe('abc…');
  });
});

/** A document with more of everything than any invoice has. */
function huge(text: string, count: number): DocumentContent {
  const party = {
    name: text,
    address: Array.from({ length: 60 }, () => text),
    countryCode: 'DE',
    vatNumber: text,
    registrationNumber: text,
    email: text,
    phone: text,
  };
  const lines = Array.from({ length: count }, (_, at) =>
    line({ name: text, description: text, net: BigInt(at), ratePpm: at * 100, periodStart: 1, periodEnd: 2 }),
  );
  return content({
    number: text,
    originalNumber: text,
    title: text,
    paidWith: text,
    note: text,
    seller: party,
    buyer: party,
    lines,
    subtotal: lines.reduce((sum, { net }) => sum + net, 0n),
    discount: { code: text, amount: 1n },
    taxes: lines.slice(0, 500).map(({ ratePpm }) => ({
      category: 'E',
      ratePpm: ratePpm ?? 0,
      net: 1n,
      tax: 1n,
      jurisdiction: text,
      reason: text,
    })),
    bank: { ...bank, accountHolder: text, bankName: text, address: text, others: [[text, text]] },
  });
}
const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : [];
const breaks = (text: string) => text.split(/\r\n|[\n\r]/).length - 1;

describe('a document', () => {
  it('of any size has a bounded number of characters and line breaks', () => {
    for (const text of ['a'.repeat(100_000), 'a\n'.repeat(50_000), family.repeat(10_000), '\u0301'.repeat(100_000)]) {
      const texts = textsIn(bounded(huge(text, 3_000)));
      expect(texts.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(110_000);
      expect(texts.reduce((sum, each) => sum + breaks(each), 0)).toBeLessThan(3_500);
      for (const each of texts) expect(each).not.toMatch(lone);
    }
  });

  it('is what it was where it is of a usual size', () => {
    for (const usual of [content(), content({ bank, note: 'Thank you.\nSee you.' })]) {
      expect(bounded(usual)).toEqual(usual);
    }
  });

  it('shows the lines beyond the most as one with their sum, which adds up', () => {
    const of = (count: number, ratePpm: (at: number) => number) =>
      bounded(
        content({
          lines: Array.from({ length: count }, (_, at) => line({ net: BigInt(at * at - 90), ratePpm: ratePpm(at) })),
        }),
      ).lines;
    for (const count of [1, 499, 500, 501, 502, 700, 5_000]) {
      const lines = of(count, () => 190_000);
      const sum = Array.from({ length: count }, (_, at) => BigInt(at * at - 90)).reduce((all, net) => all + net, 0n);
      expect(lines.reduce((all, { net }) => all + net, 0n)).toBe(sum);
      expect(lines).toHaveLength(Math.min(count, 500));
    }
    expect(of(500, () => 1).at(-1)?.name).toBe('Seats');
    expect(of(700, () => 190_000).at(-1)).toMatchObject({ name: 'and 201 more lines', quantity: 1, ratePpm: 190_000 });
    expect(of(700, at => at).at(-1)?.ratePpm).toBeNull();
  });

  it.each([
    ['Arabic', 'صيانة النظام '],
    ['emoji', family],
    ['line breaks', 'a\n'],
  ])(
    'of the largest size becomes a PDF: %s',
    async (_, text) => {
      const pdf = await renderPdf(bounded(huge(text.repeat(5_000), 600)));
      const pages = await pagesOf(pdf);
      expect(pages.length).toBeGreaterThan(10);
      expect(pages.join('')).toContain('101 more lines');
    },
    60_000,
  );
});
