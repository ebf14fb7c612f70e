import type { Font, Glyph, GlyphPosition } from 'fontkit';

/** The parts of pdfkit's embedded font that lay out a text, and give glyphs their codes in a file. */
interface EmbeddedFont {
  font: Font;
  /** From font units to thousandths of an em. */
  scale: number;
  /** Glyph ids, by their code in the file. */
  subset: { glyphs: number[] };
  widths: number[];
  unicode: (readonly number[])[];
  layoutCached(text: string): Layout;
  layout(text: string): Layout;
  encode(text: string): [codes: string[], positions: readonly GlyphPosition[]];
}

/** Positions are in thousandths of an em. */
interface Layout {
  glyphs: readonly Glyph[];
  positions: readonly GlyphPosition[];
}

const current = (pdf: PDFKit.PDFDocument): EmbeddedFont => (pdf as unknown as { _font: EmbeddedFont })._font;

/**
 * Gives a glyph of the current font a code for each text that it stands for. Letters of Arabic are drawn of bases that they
 * share, and of dots: with one code per glyph, a reader of the file would take them all for the first. The letter's text is
 * on its base. A dot has none, and no code, since readers make up a text for a code without one; see `shapesOf`. `isWhole`:
 * a text is laid out at once, not by words.
 */
export function codedByText(pdf: PDFKit.PDFDocument, isWhole: boolean): void {
  const font = current(pdf);
  const codes = new Map<string, number>();
  const codeOf = (glyph: Glyph): number => {
    const key = `${glyph.id}:${glyph.codePoints.join()}`;
    const known = codes.get(key);
    if (known !== undefined) return known;
    const code = font.subset.glyphs.push(glyph.id) - 1;
    codes.set(key, code);
    font.widths[code] = glyph.advanceWidth * font.scale;
    font.unicode[code] = glyph.codePoints;
    return code;
  };
  if (isWhole) font.layout = text => font.layoutCached(text);
  font.encode = text => {
    const { glyphs, positions } = font.layout(text);
    const encoded: string[] = [];
    const placed: GlyphPosition[] = [];
    glyphs.forEach((glyph, at) => {
      const position = positions[at];
      if (!position) return;
      const before = placed.at(-1);
      if (hasText(glyph)) {
        encoded.push(codeOf(glyph).toString(16).padStart(4, '0'));
        placed.push({ ...position });
      } else if (before) before.xAdvance += position.xAdvance;
    });
    return [encoded, placed];
  };
}

const hasText = ({ codePoints }: Glyph): boolean => codePoints.length > 0;

/** A glyph that is drawn as a shape. */
interface Shape {
  /** An SVG path in font units, upwards. */
  path: string;
  /** From the start of its text, in thousandths of an em. */
  x: number;
  y: number;
}

/** The glyphs of a text that stand for nothing by themselves, such as the dots of Arabic letters. */
export function shapesOf(pdf: PDFKit.PDFDocument, text: string): Shape[] {
  const { glyphs, positions } = current(pdf).layout(text);
  const shapes: Shape[] = [];
  let pen = 0;
  glyphs.forEach((glyph, at) => {
    const { xAdvance = 0, xOffset = 0, yOffset = 0 } = positions[at] ?? {};
    if (!hasText(glyph)) shapes.push({ path: glyph.path.toSVG(), x: pen + xOffset, y: yOffset });
    pen += xAdvance;
  });
  return shapes;
}

/** Font units of an em. */
export const unitsPerEm = (pdf: PDFKit.PDFDocument): number => current(pdf).font.unitsPerEm;
