import { parentPort } from 'node:worker_threads';
import type { JobAnswer } from '@recur/platform';
import { encodeSlice } from './formats.js';
import { tableIn } from './reading.js';
import { type FileTable, type Slice, UnreadableFile, type Written } from './slice.js';

/** A question to the thread: the bytes of rows, or the rows in bytes. */
export type Job = { write: Slice } | { read: Uint8Array };
/** Bytes, a table, or the fault of a file that holds none. */
export type Done = Written | FileTable | { fault: string };

/** The worker thread of FileThread. */
parentPort?.on('message', async (job: Job) => {
  parentPort?.postMessage(await answerTo(job));
});

async function answerTo(job: Job): Promise<JobAnswer<Done>> {
  try {
    return { ok: true, done: 'write' in job ? encodeSlice(job.write) : await tableIn(job.read) };
  } catch (error) {
    if (error instanceof UnreadableFile) return { ok: true, done: { fault: error.message } };
    return { ok: false, reason: error instanceof Error ? String(error.stack) : String(error) };
  }
}
