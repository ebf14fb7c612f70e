import { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { FairQueue, LOG, type Log, patient } from '@recur/platform';
import type { Slice, Written } from '../format/slice.js';
import type { Answer } from '../format/worker.js';

/** The slices that may wait, in all and of a merchant; the time after which the thread is ended. */
const limits = { queue: { running: 1, waiting: 100, perLine: 50 }, sliceMs: patient(30_000), heapMb: 384 } as const;

interface Job {
  resolve(written: Written): void;
  reject(error: unknown): void;
}

/** Writes rows as bytes of a file in a worker thread, so that no command waits for it. Starts with the first rows. */
@Injectable()
export class ExportFormatter implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits.queue);
  private job: Job | undefined;
  private thread: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(@Inject(LOG) private readonly log: Log) {}

  /** The bytes that follow in a file. Rejects `overloaded` where too many wait. */
  write(merchantId: number, slice: Slice): Promise<Written> {
    return this.queue.run(String(merchantId), () => this.inThread(slice));
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.end(new Error('the service ends'));
  }

  private inThread(slice: Slice): Promise<Written> {
    return new Promise((resolve, reject) => {
      this.job = { resolve, reject };
      this.thread ??= this.started();
      this.thread.ref();
      this.timer = setTimeout(() => void this.end(new Error('it took too long')), limits.sliceMs);
      this.thread.postMessage(slice);
    });
  }

  private started(): Worker {
    const thread = new Worker(new URL('../format/worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    });
    thread.on('message', (answer: Answer) => this.settle(answer));
    thread.on('error', error => {
      this.log.error({ err: error }, 'the thread that writes exports failed');
      if (thread === this.thread) void this.end(error);
    });
    return thread;
  }

  private settle(answer: Answer): void {
    const job = this.taken();
    // an idle thread keeps no process alive
    this.thread?.unref();
    if (answer.ok) job?.resolve(answer.written);
    else job?.reject(new Error(answer.reason));
  }

  /** Ends the thread, and with it the slice that it is at; the next one goes to a new thread. */
  private async end(why: unknown): Promise<void> {
    const { thread } = this;
    const job = this.taken();
    this.thread = undefined;
    await thread?.terminate();
    job?.reject(why);
  }

  private taken(): Job | undefined {
    const { job } = this;
    clearTimeout(this.timer);
    this.job = undefined;
    return job;
  }
}
