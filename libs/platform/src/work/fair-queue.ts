import { Rejected } from '@recur/kernel';

export interface FairQueueLimits {
  /** Tasks running at once. */
  running: number;
  /** Tasks waiting in one line. */
  perLine: number;
  /** Tasks waiting in all lines together. */
  waiting: number;
}

interface Waiter {
  start(): void;
  refuse(): void;
}

/**
 * Runs tasks with bounded concurrency. Waiting tasks stand in lines by key, and the lines take turns: a line that floods
 * delays only itself. When the queue is full, a newcomer displaces the last waiter of the longest line, if that line is
 * longer than its own would be.
 */
export class FairQueue {
  /** Waiting tasks by key; the line whose turn it is comes first. */
  private readonly lines = new Map<string, Waiter[]>();
  private running = 0;
  private waiting = 0;
  private closed = false;

  constructor(private readonly limits: FairQueueLimits) {}

  /** Runs a task in its line's turn. Rejects `overloaded` if it may not wait, or is displaced while it does. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    if (this.closed) throw new Rejected('overloaded');
    if (this.running >= this.limits.running) await this.turn(key);
    else this.running++;
    try {
      return await task();
    } finally {
      const next = this.next();
      if (next) next.start();
      else this.running--;
    }
  }

  /** Refuses what waits, and what comes. Tasks that run go on. */
  close(): void {
    this.closed = true;
    for (const waiter of [...this.lines.values()].flat()) waiter.refuse();
    this.lines.clear();
    this.waiting = 0;
  }

  private turn(key: string): Promise<void> {
    const length = this.lines.get(key)?.length ?? 0;
    if (length >= this.limits.perLine) throw new Rejected('overloaded');
    if (this.waiting >= this.limits.waiting) this.displace(length + 1);
    return new Promise((resolve, reject) => {
      const line = this.lines.get(key) ?? [];
      this.lines.set(key, line);
      line.push({ start: resolve, refuse: () => reject(new Rejected('overloaded')) });
      this.waiting++;
    });
  }

  /** Makes room for a newcomer whose line would have this length. */
  private displace(length: number): void {
    let longest: Waiter[] = [];
    for (const line of this.lines.values()) if (line.length > longest.length) longest = line;
    if (longest.length <= length) throw new Rejected('overloaded');
    longest.pop()?.refuse();
    this.waiting--;
  }

  /** Takes the first waiter of the line whose turn it is, and moves that line to the back. */
  private next(): Waiter | undefined {
    const [first] = this.lines;
    if (first === undefined) return undefined;
    const [key, line] = first;
    const next = line.shift();
    this.lines.delete(key);
    if (line.length > 0) this.lines.set(key, line);
    if (next) this.waiting--;
    return next;
  }
}
