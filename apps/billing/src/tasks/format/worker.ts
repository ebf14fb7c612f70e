import { parentPort } from 'node:worker_threads';
import { written } from './format.js';
import type { Slice } from './slice.js';

/** Answer of the thread. */
export type Answer = { ok: true; written: ReturnType<typeof written> } | { ok: false; reason: string };

/** The worker thread of ExportFormatter: rows in, the bytes of the file or the reason why there are none out. */
parentPort?.on('message', (slice: Slice) => {
  parentPort?.postMessage(answerTo(slice));
});

function answerTo(slice: Slice): Answer {
  try {
    return { ok: true, written: written(slice) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? String(error.stack) : String(error) };
  }
}
