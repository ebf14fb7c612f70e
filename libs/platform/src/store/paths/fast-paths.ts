import { binaryArrays } from './binary-arrays.js';
import { CommitBatcher } from './commit-batcher.js';
import type { PathParts, Paths } from './paths.js';
import { ReadBatcher } from './read-batcher.js';
import { Sequences } from './sequences.js';

/** Batches reads and commits of different commands, and takes ids in blocks. */
export function fastPaths({ pool, readPool }: PathParts): Paths {
  const reads = new ReadBatcher(pool);
  const commits = new CommitBatcher(pool);
  const sequences = new Sequences(readPool);
  return {
    arrays: binaryArrays,
    ask: (...question) => reads.ask(...question),
    commit: (merchantId, effects) => commits.commit(merchantId, effects),
    nextId: table => sequences.next(table),
    close: () => reads.close(),
  };
}
