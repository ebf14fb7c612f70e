import bidi from 'bidi-js';
import type { Font, Glyph, GlyphRun } from 'fontkit';

// typed as an ES module with a default, but the module is the function itself
export const { getEmbeddingLevels, getMirroredCharacter } = (bidi as unknown as typeof bidi.default)();

/** Begins a sign that is printed mirrored, and read as it is. */
export const MIRRORED = '\u200f';

/**
 * Lets each glyph of a layout have the text that it stands for there. fontkit keeps one object per glyph, with the text of
 * the first layout or composed glyph that needed it: documents would depend on what was printed before.
 */
export function withOwnText(font: Font): Font {
  const shared = font.getGlyph.bind(font);
  font.getGlyph = (id, codePoints = []) => {
    const glyph: Glyph = shared(id);
    return codePoints.length === 0 ? glyph : reading(glyph, codePoints);
  };
  return font;
}

/** A glyph that stands for a text. */
const reading = (glyph: Glyph, codePoints: readonly number[]): Glyph =>
  Object.create(glyph, { codePoints: { value: codePoints } });

/** Lays out Latin letters with marks as the glyphs that the font has for them, not of their parts; and mirrored signs. */
export function latin(font: Font): Font {
  const layout = font.layout.bind(font);
  font.layout = text => {
    if (!text.startsWith(MIRRORED)) return layout(text, { ccmp: false });
    const sign = text.slice(MIRRORED.length);
    const run = layout(getMirroredCharacter(sign) ?? sign);
    return reread(run, glyph => (glyph.codePoints.length === 0 ? [] : pointsOf(sign)));
  };
  return font;
}

const sign = { nikhahit: '\u0e4d', saraAa: '\u0e32', saraAm: '\u0e33' } as const;
const saraAmAfterTone = /([\u0e48-\u0e4b]?)\u0e33/gu;

/**
 * Lays out the Thai vowel am by its parts, as its shape demands: the ring comes below the tone mark that is written before
 * it. The ring stands for nothing, the rest of the vowel for the whole.
 */
export function thaiFont(font: Font): Font {
  const layout = font.layout.bind(font);
  font.layout = text => {
    const run = layout(text.replace(saraAmAfterTone, `${sign.nikhahit}$1${sign.saraAa}`));
    let isOpen = false;
    return reread(run, ({ codePoints }) => {
      const read = String.fromCodePoint(...codePoints);
      if (read === sign.nikhahit) isOpen = true;
      else if (read === sign.saraAa && isOpen) {
        isOpen = false;
        return pointsOf(sign.saraAm);
      }
      return read === sign.nikhahit ? [] : codePoints;
    });
  };
  return font;
}

const pointsOf = (text: string): number[] => [...text].map(sign => sign.codePointAt(0) ?? 0);

/** A layout whose glyphs stand for other texts. */
function reread(run: GlyphRun, textOf: (glyph: Glyph) => readonly number[]): GlyphRun {
  run.glyphs = run.glyphs.map(glyph => reading(glyph, textOf(glyph)));
  return run;
}
