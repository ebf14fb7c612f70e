import { Worker } from 'node:worker_threads';
import type { Log } from '../runtime/log.js';

/** The answer of the thread to a job: its result, or the reason why there is none. */
export type JobAnswer<D> = { ok: true; done: D } | { ok: false; reason: string };

export interface JobThreadOptions {
  /** The module of the thread, which answers every message by one. Asked for when the thread starts. */
  entry(): URL;
  /** The job as logs name it, such as `renders documents`. */
  what: string;
  /** Milliseconds after which a job is ended, and the thread with it. */
  jobMs: number;
  /** Heap of the thread, in MiB. */
  heapMb: number;
}

/**
 * A worker thread for jobs that would hold up commands: one at a time, so that callers queue. The thread starts with the
 * first job, keeps no process alive while it is idle, and is replaced after one that failed it or took too long.
 */
export class JobThread<J, D> {
  private job: { resolve(done: D): void; reject(error: unknown): void } | undefined;
  private thread: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: Log,
    private readonly options: JobThreadOptions,
  ) {}

  /** The result of a job; rejects with the reason why there is none. */
  do(job: J): Promise<D> {
    return new Promise((resolve, reject) => {
      this.job = { resolve, reject };
      this.thread ??= this.started();
      this.thread.ref();
      this.timer = setTimeout(() => void this.end(new Error('it took too long')), this.options.jobMs);
      this.thread.postMessage(job);
    });
  }

  /** Ends the thread, and with it the job that it is at; the next one goes to a new thread. */
  async end(why: unknown): Promise<void> {
    const { thread } = this;
    const job = this.taken();
    this.thread = undefined;
    await thread?.terminate();
    job?.reject(why);
  }

  private started(): Worker {
    const { entry, what, heapMb } = this.options;
    const thread = new Worker(entry(), { resourceLimits: { maxOldGenerationSizeMb: heapMb } });
    thread.on('message', (answer: JobAnswer<D>) => this.settle(answer));
    thread.on('error', error => {
      this.log.error({ err: error }, `the thread that ${what} failed`);
      if (thread === this.thread) void this.end(error);
    });
    return thread;
  }

  private settle(answer: JobAnswer<D>): void {
    const job = this.taken();
    this.thread?.unref();
    if (answer.ok) job?.resolve(answer.done);
    else job?.reject(new Error(answer.reason));
  }

  private taken() {
    const { job } = this;
    clearTimeout(this.timer);
    this.job = undefined;
    return job;
  }
}
