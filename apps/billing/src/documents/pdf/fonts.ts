import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Language } from '@recur/kernel';
import { create, type Font } from 'fontkit';

export type Weight = 'regular' | 'bold';
/** Which file of a family: Noto Sans has Latin, Greek and Cyrillic, the others the scripts of one region. */
export type Family = 'latin' | 'sc' | 'jp' | 'kr';

const packages: Record<Family, readonly [folder: string, name: string]> = {
  latin: ['noto-sans', 'NotoSans'],
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
  loaded.set(file, font);
  return font;
}

/** A stretch of text that one font can print. */
export interface Run {
  family: Family;
  text: string;
}

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const hangul = /\p{Script=Hangul}/u;
const invisible = /[\p{Cc}\p{Cf}\p{Cs}]/u;
/** Printed for a character that no font has. */
const replacement = '\u{fffd}';

/**
 * The families to look for a glyph in, in order. Chinese characters look different in China and Japan: kana in the text
 * say that it is Japanese.
 */
export function preferenceOf(text: string, language: Language): readonly Family[] {
  if (kana.test(text)) return ['latin', 'jp', 'sc', 'kr'];
  if (hangul.test(text) && language !== 'zh') return ['latin', 'kr', 'sc', 'jp'];
  return ['latin', 'sc', 'jp', 'kr'];
}

/** Splits a text into runs: each character is printed by the first font that has it, Latin first. */
export function runsOf(text: string, preference: readonly Family[], weight: Weight): Run[] {
  const runs: Run[] = [];
  for (const sign of text.normalize('NFC')) {
    if (invisible.test(sign)) continue;
    const { family, text } = printed(sign, preference, weight);
    const last = runs.at(-1);
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

/** CJK faces are not loaded for what they do not have anyway: Arabic, Thai, emoji. */
const mayHave = (family: Family, code: number): boolean =>
  family === 'latin' ||
  (code >= 0x1100 && code <= 0x11ff) ||
  (code >= 0x2000 && code <= 0x9fff) ||
  (code >= 0xa960 && code <= 0xa97f) ||
  (code >= 0xac00 && code <= 0xd7ff) ||
  (code >= 0xf900 && code <= 0xfaff) ||
  (code >= 0xfe30 && code <= 0xfe4f) ||
  (code >= 0xff00 && code <= 0xffef) ||
  (code >= 0x20000 && code <= 0x3ffff);

const has = (family: Family, weight: Weight, code: number) => fontOf(family, weight).hasGlyphForCodePoint(code);

/** The families loaded so far, for tests. */
export const loadedFonts = (): string[] => [...loaded.keys()];
