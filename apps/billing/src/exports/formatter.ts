import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { FairQueue, JobThread, LOG, type Log, patient } from '@recur/platform';
import type { Slice, Written } from './format/slice.js';

/** The slices that may wait, in all and of a merchant. */
const limits = { running: 1, waiting: 100, perLine: 50 } as const;
const thread = { what: 'writes exports', jobMs: patient(30_000), heapMb: 384 } as const;

/** Writes rows as bytes of a file in a worker thread, so that no command waits for it. */
@Injectable()
export class ExportFormatter implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits);
  private readonly thread: JobThread<Slice, Written>;

  constructor(@Inject(LOG) log: Log) {
    this.thread = new JobThread(log, { entry: () => new URL('./format/worker.js', import.meta.url), ...thread });
  }

  /** The bytes that follow in a file. Rejects `overloaded` where too many wait. */
  write(merchantId: number, slice: Slice): Promise<Written> {
    return this.queue.run(String(merchantId), () => this.thread.do(slice));
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.thread.end(new Error('the service ends'));
  }
}
