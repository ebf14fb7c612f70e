import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Language } from '@recur/kernel';
import { create, type Font } from 'fontkit';
import { latin, thaiFont, withOwnText } from './shaping.js';

export type Weight = 'regular' | 'bold';
/** Which file of a family: Noto Sans has Latin, Greek and Cyrillic, the others the scripts of one region, or emoji. */
export type Family = 'latin' | 'hebrew' | 'arabic' | 'thai' | 'emoji' | 'sc' | 'jp' | 'kr';

const packages: Record<Family, readonly [folder: string, name: string]> = {
  latin: ['noto-sans', 'NotoSans'],
  hebrew: ['noto-sans-hebrew', 'NotoSansHebrew'],
  arabic: ['noto-sans-arabic', 'NotoSansArabic'],
  thai: ['noto-sans-thai', 'NotoSansThai'],
  emoji: ['noto-emoji', 'NotoEmoji'],
  sc: ['noto-sans-sc', 'NotoSansSC'],
  jp: ['noto-sans-jp', 'NotoSansJP'],
  kr: ['noto-sans-kr', 'NotoSansKR'],
};
const weights: Record<Weight, string> = { regular: '400Regular', bold: '700Bold' };

const resolver = createRequire(import.meta.url);
const loaded = new Map<string, Font>();

/** A font of the thread, read when it is first needed: a CJK face is 5 to 11 MB. */
export function fontOf(family: Family, weight: Weight): Font {
  const [folder, name] = packages[family];
  const file = `${weights[weight]}/${name}_${weights[weight]}.ttf`;
  const known = loaded.get(file);
  if (known !== undefined) return known;
  const font = create(readFileSync(resolver.resolve(`@expo-google-fonts/${folder}/${file}`))) as Font;
  const own = withOwnText(font);
  const shaped = family === 'latin' ? latin(own) : family === 'thai' ? thaiFont(own) : own;
  loaded.set(file, shaped);
  return shaped;
}

/** A run of text that one font can print, in the order of reading. */
export interface Run {
  family: Family;
  text: string;
}

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const hangul = /\p{Script=Hangul}/u;
const invisible = /[\p{Cc}\p{Cf}\p{Cs}]|\p{Variation_Selector}/u;
/** Characters without a form of their own that join or part the letters, or the emoji, around them. */
const joiner = /[\u200c\u200d]/u;
/** Families that print the spaces between their words: readers of a file have to find them within one run. */
const spaced = new Set<Family>(['hebrew', 'arabic', 'thai']);
/** Printed for a character that no font has. */
const replacement = '\u{fffd}';

/**
 * The families to look for a glyph in, in order. Chinese characters look different in China and Japan: kana in the text
 * say that it is Japanese.
 */
export function preferenceOf(text: string, language: Language): readonly Family[] {
  if (kana.test(text)) return [...small, 'jp', 'sc', 'kr'];
  if (hangul.test(text) && language !== 'zh') return [...small, 'kr', 'sc', 'jp'];
  return [...small, 'sc', 'jp', 'kr'];
}

const small = ['latin', 'hebrew', 'arabic', 'thai', 'emoji'] as const satisfies Family[];

/** Splits a text into runs: each character is printed by the first font that has it, Latin first. */
export function runsOf(text: string, preference: readonly Family[], weight: Weight): Run[] {
  const runs: Run[] = [];
  for (const sign of text.normalize('NFC')) {
    const last = runs.at(-1);
    const joins = joiner.test(sign) && (last?.family === 'arabic' || last?.family === 'emoji');
    if (invisible.test(sign) && !joins) continue;
    const stays = joins || (last && sign === ' ' && spaced.has(last.family));
    const { family, text } = stays ? { family: last.family, text: sign } : printed(sign, preference, weight);
    if (last?.family === family) last.text += text;
    else runs.push({ family, text });
  }
  return runs;
}

function printed(sign: string, preference: readonly Family[], weight: Weight): Run {
  const code = sign.codePointAt(0) ?? 0;
  // not asked of the big fonts, which would be loaded for it
  if (/\s/u.test(sign)) return { family: 'latin', text: has('latin', weight, code) ? sign : ' ' };
  const family = preference.find(candidate => mayHave(candidate, code) && has(candidate, weight, code));
  return family ? { family, text: sign } : { family: 'latin', text: replacement };
}

type Range = readonly [from: number, to: number];
const cjk: readonly Range[] = [
  [0x1100, 0x11ff],
  [0x2000, 0x9fff],
  [0xa960, 0xa97f],
  [0xac00, 0xd7ff],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe4f],
  [0xff00, 0xffef],
  [0x20000, 0x3ffff],
];
/** Where the characters of a font are: it is not loaded for what it does not have anyway. */
const ranges: Record<Family, readonly Range[]> = {
  latin: [[0, 0x10ffff]],
  hebrew: [
    [0x590, 0x5ff],
    [0xfb1d, 0xfb4f],
  ],
  arabic: [
    [0x600, 0x6ff],
    [0x750, 0x77f],
    [0x870, 0x8ff],
    [0xfb50, 0xfdff],
    [0xfe70, 0xfeff],
  ],
  thai: [[0xe00, 0xe7f]],
  emoji: [
    [0x203c, 0x3299],
    [0x1f000, 0x1faff],
  ],
  sc: cjk,
  jp: cjk,
  kr: cjk,
};

const mayHave = (family: Family, code: number): boolean =>
  ranges[family].some(([from, to]) => code >= from && code <= to);

const has = (family: Family, weight: Weight, code: number) => fontOf(family, weight).hasGlyphForCodePoint(code);

/** The families loaded so far, for tests. */
export const loadedFonts = (): string[] => [...loaded.keys()];
