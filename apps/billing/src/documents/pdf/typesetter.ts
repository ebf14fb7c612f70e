import type { Language } from '@recur/kernel';
import { type Family, fontOf, preferenceOf, type Run, runsOf, type Weight } from './fonts.js';

export interface Style {
  size: number;
  weight?: Weight;
  color?: string;
  align?: 'left' | 'right';
}

/** A line that fits its width. */
export interface Line {
  runs: readonly Run[];
  width: number;
}

/** Wrapped text, ready to be drawn. */
export interface Block {
  lines: readonly Line[];
  style: Style;
  height: number;
}

/** Distance of baselines, and of the first one from the block's top, in font sizes. */
const leading = 1.35;
const ascent = 1.02;

/** CJK text breaks between any two characters; punctuation stays with the character before it. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef]/u;
const closing = /^[、。，．：；！？）」』】〉》〕・ー”’.,:;!?)\]}]$/u;

/** Sets text in several scripts on the pages of a PDF: wraps it by width, and draws each run with its font. */
export class Typesetter {
  private readonly names = new Map<string, string>();

  constructor(
    private readonly pdf: PDFKit.PDFDocument,
    private readonly language: Language,
  ) {}

  /** Wraps a text to a width in points. Line breaks of the text are kept; a word wider than the line is broken. */
  block(text: string, width: number, style: Style): Block {
    const preference = preferenceOf(text, this.language);
    const weight = style.weight ?? 'regular';
    const lines = text.split(/\r\n|[\n\r\v\f\u2028\u2029]/u).flatMap(paragraph => {
      const words = wordsOf(paragraph).flatMap(word => this.fitting(word, width, preference, style));
      return this.wrapped(words, width, preference, style);
    });
    return {
      lines: lines.map(line => ({
        runs: runsOf(line, preference, weight),
        width: this.width(line, style, preference),
      })),
      style,
      height: lines.length * style.size * leading,
    };
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

  private line(runs: readonly Run[], x: number, baseline: number, style: Style): void {
    let left = x;
    for (const run of runs) {
      const width = this.runWidth(run, style);
      this.pdf.fillColor(style.color ?? '#111111');
      this.pdf.text(run.text, left, baseline, { lineBreak: false, baseline: 'alphabetic' });
      left += width;
    }
  }

  /** Makes a font the current one; registered under its name when the document first needs it. */
  private use(family: Family, { size, weight = 'regular' }: Style): PDFKit.PDFDocument {
    const name = `${family} ${weight}`;
    if (!this.names.has(name)) {
      // pdfkit takes an opened font as well as its bytes, which it would parse again for each document
      this.pdf.registerFont(name, fontOf(family, weight) as unknown as PDFKit.Mixins.PDFFontSource);
      this.names.set(name, name);
    }
    return this.pdf.font(name).fontSize(size);
  }

  /** A word, or its pieces where it is wider than a line. */
  private fitting(word: string, width: number, preference: readonly Family[], style: Style): string[] {
    if (this.width(word, style, preference) <= width) return [word];
    const pieces: string[] = [];
    let piece = '';
    for (const sign of word) {
      if (piece !== '' && this.width(piece + sign, style, preference) > width) {
        pieces.push(piece);
        piece = '';
      }
      piece += sign;
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

/** The pieces between which a line may break: words with the space after them, characters of CJK text. */
function wordsOf(text: string): string[] {
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
