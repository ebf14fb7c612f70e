import { createHash } from 'node:crypto';
import { Rejected } from '@recur/kernel';
import type { DocumentContent } from './content.js';

/** The pause after a first failure, which doubles with each, and the documents that are remembered. */
const limits = { firstSeconds: 60, mostSeconds: 21_600, documents: 1_000 } as const;

interface Failure {
  times: number;
  /** Unix seconds. */
  until: number;
}

/**
 * Documents that could not be made, by what they say: each costs the time of a thread, and is not tried again before a
 * pause that grows, however often it is asked for. `now` answers unix seconds.
 */
export class FailedDocuments {
  /** The one that failed longest ago comes first. */
  private readonly known = new Map<string, Failure>();

  constructor(private readonly now: () => number) {}

  /** Throws Rejected `overloaded` for a document in its pause. */
  assertDue(content: DocumentContent): void {
    if (this.known.size === 0) return;
    const seconds = (this.known.get(documentName(content))?.until ?? 0) - this.now();
    if (seconds <= 0) return;
    throw new Rejected(
      'overloaded',
      `The PDF could not be made; it is tried again in ${seconds} seconds at the earliest`,
    );
  }

  failed(content: DocumentContent): void {
    const name = documentName(content);
    const times = (this.known.get(name)?.times ?? 0) + 1;
    const pause = Math.min(limits.firstSeconds * 2 ** Math.min(times - 1, 20), limits.mostSeconds);
    this.known.delete(name);
    this.known.set(name, { times, until: this.now() + pause });
    const [oldest] = this.known.keys();
    if (this.known.size > limits.documents && oldest !== undefined) this.known.delete(oldest);
  }

  made(content: DocumentContent): void {
    if (this.known.size > 0) this.known.delete(documentName(content));
  }
}

function documentName(content: DocumentContent): string {
  const hash = createHash('sha256');
  const { logo, ...rest } = content;
  if (logo) hash.update(logo);
  hash.update(JSON.stringify(rest, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
  return hash.digest('base64');
}
