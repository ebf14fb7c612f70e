import { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, FairQueue, LOG, type Log, patient } from '@recur/platform';
import type { DocumentContent } from './content.js';
import { FailedDocuments } from './failures.js';

/** The documents that may wait, in all and of a merchant; the time after which the thread is ended. */
const limits = {
  queue: { running: 1, waiting: 100, perLine: 50 },
  ...{ renderMs: patient(4_000), heapMb: 384 },
} as const;

/** Answer of the worker thread. */
export type Rendered = { ok: true; bytes: Uint8Array } | { ok: false; reason: string };

interface Job {
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

/**
 * Renders documents in a worker thread, one after the other, so that no command waits while a page is laid out. Merchants
 * take turns. The thread starts with the first document, keeps its fonts, and is replaced when it fails.
 */
@Injectable()
export class DocumentRenderer implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits.queue);
  private readonly failures: FailedDocuments;
  private current: Job | undefined;
  private thread: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;
  protected readonly entry: URL = new URL('./pdf/worker.js', import.meta.url);

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.failures = new FailedDocuments(() => Math.floor(clock.wall() / 1000));
  }

  /** The PDF of a document. Rejects `overloaded` where too many wait, or it has failed a moment ago. */
  async render(merchantId: number, content: DocumentContent): Promise<Uint8Array> {
    this.failures.assertDue(content);
    return this.queue.run(String(merchantId), () => this.made(content));
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.end(new Rejected('overloaded'));
  }

  private async made(content: DocumentContent): Promise<Uint8Array> {
    // the same document may have failed while this one waited
    this.failures.assertDue(content);
    try {
      const bytes = await this.inThread(content);
      this.failures.made(content);
      return bytes;
    } catch (error) {
      if (!(error instanceof Rejected)) this.failures.failed(content);
      throw error;
    }
  }

  private inThread(content: DocumentContent): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.current = { resolve, reject };
      this.thread ??= this.started();
      this.thread.ref();
      this.timer = setTimeout(() => void this.end(new Error('it took too long')), limits.renderMs);
      this.thread.postMessage(content);
    });
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
    const job = this.taken();
    // an idle thread keeps no process alive
    this.thread?.unref();
    if (answer.ok) job?.resolve(answer.bytes);
    else job?.reject(new Error(answer.reason));
  }

  /** Ends the thread, and with it the document that it is at; the others go to a new one. */
  private async end(why: unknown): Promise<void> {
    const { thread } = this;
    const job = this.taken();
    this.thread = undefined;
    await thread?.terminate();
    job?.reject(why);
  }

  private taken(): Job | undefined {
    const job = this.current;
    clearTimeout(this.timer);
    this.current = undefined;
    return job;
  }
}
