/**
 * Runs one job per key on request: at most `atOnce` jobs at a time, never two of one key, in the order of the requests. A
 * key that is requested while its job is running runs once more afterwards, so each run covers what came in during the
 * previous one, and nothing waits when there is nothing to wait for. The job must not reject.
 */
export class KeyedThrottle<K> {
  private readonly waiting = new Set<K>();
  private readonly running = new Set<K>();

  constructor(
    private readonly atOnce: number,
    private readonly job: (key: K) => Promise<void>,
  ) {}

  request(key: K): void {
    this.waiting.add(key);
    this.next();
  }

  private next(): void {
    for (const key of this.waiting) {
      if (this.running.size >= this.atOnce) return;
      if (this.running.has(key)) continue;
      this.waiting.delete(key);
      this.running.add(key);
      void this.job(key).finally(() => {
        this.running.delete(key);
        this.next();
      });
    }
  }
}
