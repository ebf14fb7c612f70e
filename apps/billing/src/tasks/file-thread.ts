import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { FairQueue, JobThread, LOG, type Log, patient } from '@recur/platform';
import type { Slice, Written } from './format/slice.js';
import { type FileTable, UnreadableFile } from './format/table.js';
import type { Done, Job } from './format/worker.js';

/** The jobs that may wait, in all and of a merchant. */
const limits = { running: 1, waiting: 100, perLine: 50 } as const;
const thread = { what: 'writes and reads files', jobMs: patient(30_000), heapMb: 384 } as const;

/** Writes and reads files in a worker thread, so that no command waits for it. */
@Injectable()
export class FileThread implements OnModuleDestroy {
  private readonly queue = new FairQueue(limits);
  private readonly thread: JobThread<Job, Done>;

  constructor(@Inject(LOG) log: Log) {
    this.thread = new JobThread(log, { entry: () => new URL('./format/worker.js', import.meta.url), ...thread });
  }

  /** The bytes that follow in a file. Rejects `overloaded` where too many wait. */
  write(merchantId: number, slice: Slice): Promise<Written> {
    return this.queue.run(String(merchantId), async () => {
      const done = await this.thread.do({ write: slice });
      return 'content' in done ? done : unexpected();
    });
  }

  /** The table in a file. Rejects UnreadableFile, and `overloaded` where too many wait. */
  read(merchantId: number, bytes: Uint8Array): Promise<FileTable> {
    return this.queue.run(String(merchantId), async () => {
      const done = await this.thread.do({ read: bytes });
      if ('fault' in done) throw new UnreadableFile(done.fault);
      return 'header' in done ? done : unexpected();
    });
  }

  async onModuleDestroy(): Promise<void> {
    this.queue.close();
    await this.thread.end(new Error('the service ends'));
  }
}

function unexpected(): never {
  throw new Error('the thread answered another question');
}
