import { parentPort } from 'node:worker_threads';
import type { JobAnswer } from '@recur/platform';
import type { DocumentContent } from '../content.js';
import { renderPdf } from './render.js';

type Rendered = JobAnswer<Uint8Array>;

/** The worker thread of DocumentRenderer: a document in, its PDF or the reason why there is none out. */
parentPort?.on('message', async (content: DocumentContent) => {
  const answer = await renderPdf(content).then(
    (done): Rendered => ({ ok: true, done }),
    (error: unknown): Rendered => ({ ok: false, reason: error instanceof Error ? String(error.stack) : String(error) }),
  );
  parentPort?.postMessage(answer);
});
