import type { DocumentContent } from '../content.js';
import { drawHeader } from './header.js';
import { drawLines } from './lines.js';
import { canvasOf, drawFooters } from './page.js';
import { drawPayment } from './payment.js';
import { drawNotes, drawTotals } from './totals.js';

/** The PDF of a document. Equal content gives equal bytes. Takes 10 to 100 ms of a processor: run it in a worker thread. */
export async function renderPdf(content: DocumentContent): Promise<Uint8Array> {
  const canvas = canvasOf(content);
  const { pdf } = canvas;
  const chunks: Buffer[] = [];
  const finished = new Promise<Uint8Array>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
    pdf.on('end', () => resolve(Buffer.concat(chunks)));
    pdf.on('error', reject);
  });
  drawHeader(canvas, content);
  drawLines(canvas, content);
  drawTotals(canvas, content);
  drawPayment(canvas, content);
  drawNotes(canvas, content);
  drawFooters(canvas, content);
  pdf.end();
  return finished;
}
