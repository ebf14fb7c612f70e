import { parentPort } from 'node:worker_threads';
import type { JobAnswer } from '@recur/platform';
import { written } from './format.js';
import type { Slice, Written } from './slice.js';

/** The worker thread of ExportFormatter: rows in, the bytes of the file or the reason why there are none out. */
parentPort?.on('message', (slice: Slice) => {
  parentPort?.postMessage(answerTo(slice));
});

function answerTo(slice: Slice): JobAnswer<Written> {
  try {
    return { ok: true, done: written(slice) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? String(error.stack) : String(error) };
  }
}
