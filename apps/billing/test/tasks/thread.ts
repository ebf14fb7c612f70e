import type { TestService } from '@recur/platform/testing';
import { FileThread } from '../../src/tasks/files.js';
import { encodeSlice } from '../../src/tasks/format/formats.js';
import { tableIn } from '../../src/tasks/format/reading.js';
import type { Slice } from '../../src/tasks/format/slice.js';

/** Writes and reads files in the test's own thread: from source, there is no file for another one. */
export function filesHere(t: TestService): void {
  Object.assign(t.app.get(FileThread), {
    write: async (_: number, slice: Slice) => encodeSlice(slice),
    read: (_: number, bytes: Uint8Array) => tableIn(bytes),
  });
}
