import { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { FairQueue, LOG, type Log, patient } from '@recur/platform';
import type { Slice, Written } from './format/slice.js';
import { type FileTable, UnreadableFile } from './format/table.js';
import type { Answer, Done, Job } from './format/worker.js';

/** The jobs that may wait, in all and of a merchant; the time after which the thread is ended. */
const limits = { queue: { running: 1, waiting: 100, perLine: 50 }, jobMs: patient(30_000), heapMb: 384 } as const;

interface Asked {
  resolve(done: Done): void;
  reject(error: unknown): void;
}

/** Writes and reads files in a worker thread, so that no command waits for it. Starts with the first file. */
@Injectable()
export class FileThread implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits.queue);
  private job: Asked | undefined;
  private thread: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(@Inject(LOG) private readonly log: Log) {}

  /** The bytes that follow in a file. Rejects `overloaded` where too many wait. */
  write(merchantId: number, slice: Slice): Promise<Written> {
    return this.queue.run(String(merchantId), () => this.inThread<Written>({ write: slice }));
  }

  /** The table in a file. Rejects UnreadableFile, and `overloaded` where too many wait. */
  read(merchantId: number, bytes: Uint8Array): Promise<FileTable> {
    return this.queue.run(String(merchantId), () => this.inThread<FileTable>({ read: bytes }));
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.end(new Error('the service ends'));
  }

  private inThread<D extends Done>(job: Job): Promise<D> {
    return new Promise((resolve, reject) => {
      this.job = { resolve: done => resolve(done as D), reject };
      this.thread ??= this.started();
      this.thread.ref();
      this.timer = setTimeout(() => void this.end(new Error('it took too long')), limits.jobMs);
      this.thread.postMessage(job);
    });
  }

  private started(): Worker {
    const thread = new Worker(new URL('./format/worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    });
    thread.on('message', (answer: Answer) => this.settle(answer));
    thread.on('error', error => {
      this.log.error({ err: error }, 'the thread of files failed');
      if (thread === this.thread) void this.end(error);
    });
    return thread;
  }

  private settle(answer: Answer): void {
    const job = this.taken();
    // an idle thread keeps no process alive
    this.thread?.unref();
    if (answer.is === 'done') job?.resolve(answer.done);
    else job?.reject(answer.is === 'unreadable' ? new UnreadableFile(answer.fault) : new Error(answer.reason));
  }

  /** Ends the thread, and with it the job that it is at; the next one goes to a new thread. */
  private async end(why: unknown): Promise<void> {
    const { thread } = this;
    const job = this.taken();
    this.thread = undefined;
    await thread?.terminate();
    job?.reject(why);
  }

  private taken(): Asked | undefined {
    const { job } = this;
    clearTimeout(this.timer);
    this.job = undefined;
    return job;
  }
}
