import { extractText, getDocumentProxy } from 'unpdf';

/** The text of each page, as a reader of the PDF gets it. */
export async function pagesOf(pdf: Uint8Array): Promise<string[]> {
  // the reader takes the bytes for itself
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)), { mergePages: false });
  return text.map(page => page.normalize('NFKC').replace(/\s+/g, ' '));
}

/** The fonts that a PDF embeds, without the tags of their subsets. */
export const fontsIn = (pdf: Uint8Array): string[] =>
  [
    ...new Set(
      [
        ...Buffer.from(pdf)
          .toString('latin1')
          .matchAll(/\/BaseFont \/[A-Z]{6}\+([\w-]+)/g),
      ].map(([, name = '']) => name),
    ),
  ].sort();

/** The number of pictures in a PDF. */
export const imagesIn = (pdf: Uint8Array): number =>
  Buffer.from(pdf)
    .toString('latin1')
    .match(/\/Subtype \/Image/g)?.length ?? 0;
