import type { Language } from '@recur/kernel';
import { codedByText, shapesOf, unitsPerEm } from './embedding.js';
import { type Family, fontOf, preferenceOf, type Run, runsOf, type Weight } from './fonts.js';
import { getEmbeddingLevels, getMirroredCharacter, MIRRORED } from './shaping.js';

export interface Style {
  size: number;
  weight?: Weight;
  color?: string;
  align?: 'left' | 'right';
}

/** A line that fits its width, with its runs in the order of reading. */
export interface TextLine {
  runs: readonly PlacedRun[];
  width: number;
}

/** A run with its distance from the left end of its line. */
interface PlacedRun extends Run {
  left: number;
}

/** Wrapped text, ready to be drawn. */
export interface Block {
  lines: readonly TextLine[];
  style: Style;
  height: number;
}

/** Distance of baselines, and of the first one from the block's top, in font sizes. */
const leading = 1.35;
const ascent = 1.02;

/** CJK text breaks between any two characters; punctuation stays with the character before it. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef]/u;
const closing = /^[、。，．：；！？）」』】〉》〕・ー”’.,:;!?)\]}]$/u;

/** Families whose letters depend on their neighbours, and are drawn of parts. */
const joined = new Set<Family>(['hebrew', 'arabic', 'thai']);
const signs = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Longer words are measured by their signs alone. */
const signsMeasured = 200;
/** Thai is written without spaces: lines break between its words. */
const thaiRun = /\p{Script=Thai}+/u;
const thaiWords = new Intl.Segmenter('th', { granularity: 'word' });

/** Sets text in several scripts on the pages of a PDF: wraps it by width, and draws each run with its font. */
export class Typesetter {
  private readonly names = new Set<string>();

  constructor(
    private readonly pdf: PDFKit.PDFDocument,
    private readonly language: Language,
  ) {}

  /** Wraps a text to a width in points. Line breaks of the text are kept; a word wider than the line is broken. */
  block(text: string, width: number, style: Style): Block {
    const preference = preferenceOf(text, this.language);
    const lines = text.split(/\r\n|[\n\r\v\f\u2028\u2029]/u).flatMap(paragraph => {
      const words = splitWords(paragraph).flatMap(word => this.fitting(word, width, preference, style));
      return this.wrapped(words, width, preference, style);
    });
    return {
      lines: lines.map(line => this.placed(line, preference, style)),
      style,
      height: lines.length * style.size * leading,
    };
  }

  /** The runs of a line, from left to right as its scripts are written. */
  private placed(line: string, preference: readonly Family[], style: Style): TextLine {
    const { runs, order } = directed(line, preference, style.weight ?? 'regular');
    const placed: PlacedRun[] = runs.map(run => ({ ...run, left: 0 }));
    let width = 0;
    for (const run of order.map(at => placed[at])) {
      if (!run) continue;
      run.left = width;
      width += this.runWidth(run, style);
    }
    return { runs: placed, width };
  }

  /** Draws a block with its top left corner at x, y; `width` is what `align: right` refers to. Returns the y below it. */
  draw({ lines, style, height }: Block, x: number, y: number, width: number): number {
    lines.forEach((line, at) => {
      const left = style.align === 'right' ? x + width - line.width : x;
      this.line(line.runs, left, y + (at * leading + ascent) * style.size, style);
    });
    return y + height;
  }

  /** Wraps and draws. */
  write(text: string, x: number, y: number, width: number, style: Style): number {
    return this.draw(this.block(text, width, style), x, y, width);
  }

  width(text: string, style: Style, preference = preferenceOf(text, this.language)): number {
    const runs = runsOf(text, preference, style.weight ?? 'regular');
    return runs.reduce((sum, run) => sum + this.runWidth(run, style), 0);
  }

  private runWidth({ family, text }: Run, style: Style): number {
    return this.use(family, style).widthOfString(text);
  }

  private line(runs: readonly PlacedRun[], x: number, baseline: number, style: Style): void {
    for (const { family, text, left } of runs) {
      this.use(family, style).fillColor(style.color ?? '#111111');
      this.pdf.text(text, x + left, baseline, { lineBreak: false, baseline: 'alphabetic' });
      if (joined.has(family)) this.shapes(text, x + left, baseline, style);
    }
  }

  /** Draws what of a text has no text of its own. */
  private shapes(text: string, x: number, baseline: number, { size, color = '#111111' }: Style): void {
    const scale = size / unitsPerEm(this.pdf);
    for (const shape of shapesOf(this.pdf, text)) {
      this.pdf.save();
      this.pdf.translate(x + (shape.x * size) / 1000, baseline - (shape.y * size) / 1000).scale(scale, -scale);
      this.pdf.path(shape.path).fill(color);
      this.pdf.restore();
    }
  }

  /** Makes a font the current one; registered under its name when the document first needs it. */
  private use(family: Family, { size, weight = 'regular' }: Style): PDFKit.PDFDocument {
    const name = `${family} ${weight}`;
    const isNew = !this.names.has(name);
    if (isNew) {
      // pdfkit takes an opened font as well as its bytes, which it would parse again for each document
      this.pdf.registerFont(name, fontOf(family, weight) as unknown as PDFKit.Mixins.PDFFontSource);
      this.names.add(name);
    }
    this.pdf.font(name).fontSize(size);
    if (isNew) codedByText(this.pdf, joined.has(family));
    return this.pdf;
  }

  /** A text as far as it fits on one line, with an ellipsis where that is not all of it. */
  cut(text: string, width: number, style: Style): string {
    const preference = preferenceOf(text, this.language);
    const [first = '', ...rest] = this.fitting(text, width, preference, style);
    if (rest.length === 0) return first;
    const ellipsis = '…';
    const [left = ''] = this.fitting(first, width - this.width(ellipsis, style), preference, style);
    return `${left.trimEnd()}${ellipsis}`;
  }

  /** A word, or its pieces where it is wider than a line: the whole is not measured, only what comes on a line. */
  private fitting(word: string, width: number, preference: readonly Family[], style: Style): string[] {
    if (word.length <= signsMeasured && this.width(word, style, preference) <= width) return [word];
    const pieces: string[] = [];
    let piece = '';
    let used = 0;
    // by the widths of the single signs: measuring what has come together so far would take the square of the time
    for (const { segment: sign } of signs.segment(word)) {
      const wide = this.width(sign, style, preference);
      if (piece !== '' && used + wide > width) {
        pieces.push(piece);
        piece = '';
        used = 0;
      }
      piece += sign;
      used += wide;
    }
    return piece === '' ? pieces : [...pieces, piece];
  }

  /** Widths are those of the pieces: kerning across a space is too small to matter. */
  private wrapped(words: readonly string[], width: number, preference: readonly Family[], style: Style): string[] {
    const lines: string[] = [];
    let line = '';
    let used = 0;
    for (const word of words) {
      const ink = word.trimEnd();
      const inked = this.width(ink, style, preference);
      if (line !== '' && used + inked > width) {
        lines.push(line.trimEnd());
        line = '';
        used = 0;
      }
      line += word;
      used += inked + (word.length - ink.length) * this.width(' ', style, preference);
    }
    return [...lines, line.trimEnd()];
  }
}

/** The pieces between which a line may break: words with the space after them, characters of CJK text, words of Thai. */
function splitWords(text: string): string[] {
  return spacedWordsOf(text).flatMap(word =>
    thaiRun.test(word) ? [...thaiWords.segment(word)].map(({ segment }) => segment) : [word],
  );
}

function spacedWordsOf(text: string): string[] {
  const words: string[] = [];
  let open = false;
  for (const sign of text) {
    const last = words.length - 1;
    if (closing.test(sign) && last >= 0 && !/\s$/u.test(words[last] ?? '')) {
      words[last] += sign;
      open = open && !wide.test(sign);
    } else if (wide.test(sign)) {
      words.push(sign);
      open = false;
    } else if (sign === ' ' || sign === '\t') {
      if (last >= 0) words[last] += ' ';
      open = false;
    } else if (open) {
      words[last] += sign;
      // a hyphen or slash ends a piece, so that long compounds break there
      open = !/[-/\u2013]/u.test(sign);
    } else {
      words.push(sign);
      open = true;
    }
  }
  return words;
}

/** Scripts that are written from right to left; a font lays out a run of them in that direction by itself. */
const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}]/u;

/** The runs of a line in the order of reading, and where each comes from left to right. */
export interface Directed {
  runs: Run[];
  /** Indices of `runs`, from the left. */
  order: number[];
}

/**
 * The runs of a line by the Unicode bidirectional algorithm. Its first letter says which way the line is read; punctuation
 * is mirrored in text that is read from right to left.
 */
export function directed(line: string, preference: readonly Family[], weight: Weight): Directed {
  if (!rightToLeft.test(line)) {
    const runs = runsOf(line, preference, weight);
    return { runs, order: [...runs.keys()] };
  }
  const text = line.normalize('NFC');
  const { levels } = getEmbeddingLevels(text, 'auto');
  const runs: Run[] = [];
  const levelOf: number[] = [];
  for (let at = 0; at < text.length; ) {
    const level = levels[at] ?? 0;
    let end = at + 1;
    while (end < text.length && levels[end] === level) end++;
    for (const run of runsOf(text.slice(at, end), preference, weight)) {
      const parts = level % 2 === 1 ? leftwards(run) : [rightwards(run)];
      runs.push(...parts);
      levelOf.push(...parts.map(() => level));
    }
    at = end;
  }
  return { runs, order: visualOrder(levelOf) };
}

/** A run that is read from right to left: as it is in its own script, else one by one, mirrored. */
function leftwards({ family, text }: Run): Run[] {
  if (rightToLeft.test(text)) return [{ family, text }];
  return [...text].map(sign => ({ family, text: getMirroredCharacter(sign) === null ? sign : MIRRORED + sign }));
}

/** A run that is read from left to right. Digits that belong to a script of the other direction come reversed to its font. */
const rightwards = ({ family, text }: Run): Run =>
  rightToLeft.test(text) ? { family, text: [...text].reverse().join('') } : { family, text };

/** Rule L2: from the highest level to the lowest odd one, runs that are at least at it are reversed. */
function visualOrder(levels: readonly number[]): number[] {
  let order = [...levels.keys()];
  for (let level = Math.max(...levels); level > 0; level--) {
    const turned: number[] = [];
    for (let at = 0; at < order.length; ) {
      let end = at;
      while (end < order.length && (levels[order[end] ?? 0] ?? 0) >= level) end++;
      if (end > at) turned.push(...order.slice(at, end).reverse());
      else turned.push(order[end++] ?? 0);
      at = end;
    }
    order = turned;
  }
  return order;
}
