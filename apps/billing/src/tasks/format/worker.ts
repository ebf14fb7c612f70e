import { parentPort } from 'node:worker_threads';
import { written } from './format.js';
import { tableIn } from './reading.js';
import type { Slice } from './slice.js';
import { UnreadableFile } from './table.js';

/** What the thread is asked: the bytes of rows, or the rows in bytes. */
export type Job = { write: Slice } | { read: Uint8Array };
export type Done = ReturnType<typeof written> | Awaited<ReturnType<typeof tableIn>>;
/** Answer of the thread; `fault` is what is wrong with a file, for who made it. */
export type Answer =
  | { is: 'done'; done: Done }
  | { is: 'unreadable'; fault: string }
  | { is: 'failed'; reason: string };

/** The worker thread of FileThread. */
parentPort?.on('message', async (job: Job) => {
  parentPort?.postMessage(await answerTo(job));
});

async function answerTo(job: Job): Promise<Answer> {
  try {
    return { is: 'done', done: 'write' in job ? written(job.write) : await tableIn(job.read) };
  } catch (error) {
    if (error instanceof UnreadableFile) return { is: 'unreadable', fault: error.message };
    return { is: 'failed', reason: error instanceof Error ? String(error.stack) : String(error) };
  }
}
