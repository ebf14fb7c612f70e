import { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { LOG, type Log, patient } from '@recur/platform';
import type { DocumentContent } from './content.js';

/** Documents that may wait for the thread, and the time that one may take before the thread is ended. */
const limits = { waiting: 100, renderMs: patient(4_000), heapMb: 384 } as const;

/** Answer of the worker thread. */
export type Rendered = { ok: true; bytes: Uint8Array } | { ok: false; reason: string };

interface Job {
  content: DocumentContent;
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

/**
 * Renders documents in a worker thread, one after the other, so that no command waits while a page is laid out. The
 * thread starts with the first document, keeps its fonts, and is replaced when it fails.
 */
@Injectable()
export class DocumentRenderer implements OnModuleDestroy {
  private readonly waiting: Job[] = [];
  private current: Job | undefined;
  private thread: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;
  protected readonly entry: URL = new URL('./pdf/worker.js', import.meta.url);

  constructor(@Inject(LOG) private readonly log: Log) {}

  /** The PDF of a document. Throws Rejected `overloaded` where too many wait. */
  render(content: DocumentContent): Promise<Uint8Array> {
    if (this.waiting.length >= limits.waiting) throw new Rejected('overloaded');
    return new Promise((resolve, reject) => {
      this.waiting.push({ content, resolve, reject });
      this.next();
    });
  }

  async onModuleDestroy(): Promise<void> {
    for (const job of this.waiting.splice(0)) job.reject(new Rejected('overloaded'));
    await this.end(new Rejected('overloaded'));
  }

  private next(): void {
    if (this.current !== undefined) return;
    this.current = this.waiting.shift();
    if (this.current === undefined) {
      // an idle thread keeps no process alive
      this.thread?.unref();
      return;
    }
    this.thread ??= this.started();
    this.thread.ref();
    this.timer = setTimeout(() => void this.end(new Error('a document took too long')), limits.renderMs);
    this.thread.postMessage(this.current.content);
  }

  private started(): Worker {
    const thread = new Worker(this.entry, { resourceLimits: { maxOldGenerationSizeMb: limits.heapMb } });
    thread.on('message', (answer: Rendered) => this.settle(answer));
    thread.on('error', error => {
      this.log.error({ err: error }, 'the thread that renders documents failed');
      if (thread === this.thread) void this.end(error);
    });
    return thread;
  }

  private settle(answer: Rendered): void {
    const job = this.current;
    clearTimeout(this.timer);
    this.current = undefined;
    if (answer.ok) job?.resolve(answer.bytes);
    else job?.reject(new Error(`a document could not be rendered: ${answer.reason}`));
    this.next();
  }

  /** Ends the thread, and with it the document that it is at; the others go to a new one. */
  private async end(why: unknown): Promise<void> {
    const { thread, current } = this;
    clearTimeout(this.timer);
    this.thread = undefined;
    this.current = undefined;
    await thread?.terminate();
    current?.reject(why);
    this.next();
  }
}
