import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, FairQueue, JobThread, LOG, type Log, patient } from '@recur/platform';
import type { DocumentContent } from './content.js';
import { FailedDocuments } from './failures.js';

/** The documents that may wait, in all and of a merchant. */
const limits = { running: 1, waiting: 100, perLine: 50 } as const;
const renderThread = { what: 'renders documents', jobMs: patient(4_000), heapMb: 384 } as const;

/**
 * Renders documents in a worker thread, one after the other, so that no command waits while a page is laid out. Merchants
 * take turns. The thread keeps its fonts.
 */
@Injectable()
export class DocumentRenderer implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits);
  private readonly failures: FailedDocuments;
  private readonly thread: JobThread<DocumentContent, Uint8Array>;
  protected readonly entry: URL = new URL('./pdf/worker.js', import.meta.url);

  constructor(@Inject(LOG) log: Log, @Inject(CLOCK) clock: Clock) {
    this.failures = new FailedDocuments(() => Math.floor(clock.wall() / 1000));
    this.thread = new JobThread(log, { entry: () => this.entry, ...renderThread });
  }

  /** The PDF of a document. Rejects `overloaded` where too many wait, or it has failed a moment ago. */
  async render(merchantId: number, content: DocumentContent): Promise<Uint8Array> {
    this.failures.assertDue(content);
    return this.queue.run(String(merchantId), () => this.made(content));
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.thread.end(new Rejected('overloaded'));
  }

  private async made(content: DocumentContent): Promise<Uint8Array> {
    // the same document may have failed while this one waited
    this.failures.assertDue(content);
    try {
      const bytes = await this.thread.do(content);
      this.failures.made(content);
      return bytes;
    } catch (error) {
      if (!(error instanceof Rejected)) this.failures.failed(content);
      throw error;
    }
  }
}
