/**
 * After a run over at least `busyItems` items, the key rests `restTimes` as long as the run took, at most `restMs`: under
 * load fewer and larger runs cost less, and the delay follows the load.
 */
const limits = { busyItems: 16, restTimes: 2, restMs: 20 } as const;

/**
 * Runs one job per key on request: at most `atOnce` jobs at a time, never two of one key, in the order of the requests. A
 * key that is requested while its job is running runs once more afterwards, so each run covers what came in during the
 * previous one, and nothing waits when there is nothing to wait for. The job returns the number of items it handled, and
 * must not reject. `nowMs` is a clock for the duration of runs.
 */
export class KeyedThrottle<K> {
  private readonly waiting = new Set<K>();
  /** Keys that are running or resting. */
  private readonly held = new Set<K>();
  private running = 0;

  constructor(
    private readonly atOnce: number,
    private readonly nowMs: () => number,
    private readonly job: (key: K) => Promise<number>,
  ) {}

  request(key: K): void {
    this.waiting.add(key);
    this.next();
  }

  private next(): void {
    for (const key of this.waiting) {
      if (this.running >= this.atOnce) return;
      if (this.held.has(key)) continue;
      this.waiting.delete(key);
      this.held.add(key);
      void this.run(key);
    }
  }

  private async run(key: K): Promise<void> {
    this.running++;
    const startedMs = this.nowMs();
    const items = await this.job(key);
    this.running--;
    const restMs =
      items < limits.busyItems ? 0 : Math.min((this.nowMs() - startedMs) * limits.restTimes, limits.restMs);
    if (restMs > 0) setTimeout(() => this.release(key), restMs);
    else this.held.delete(key);
    this.next();
  }

  private release(key: K): void {
    this.held.delete(key);
    this.next();
  }
}
