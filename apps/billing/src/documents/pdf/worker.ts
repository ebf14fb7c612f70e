import { parentPort } from 'node:worker_threads';
import type { DocumentContent } from '../content.js';
import type { Rendered } from '../renderer.js';
import { renderPdf } from './render.js';

/** The worker thread of DocumentRenderer: a document in, its PDF or the reason why there is none out. */
parentPort?.on('message', async (content: DocumentContent) => {
  const answer = await renderPdf(content).then(
    (bytes): Rendered => ({ ok: true, bytes }),
    (error: unknown): Rendered => ({ ok: false, reason: error instanceof Error ? String(error.stack) : String(error) }),
  );
  parentPort?.postMessage(answer);
});
