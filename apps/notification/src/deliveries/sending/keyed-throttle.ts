/**
 * Runs one job per key on request: at most `atOnce` jobs at a time, never two of one key, in the order of the requests. A
 * key that is requested while its job is running, or within `restMs` after its start, runs once more afterwards: under
 * load each run covers many requests, and the first is never delayed. The job must not reject.
 */
export class KeyedThrottle<K> {
  private readonly waiting = new Set<K>();
  private readonly resting = new Set<K>();
  private running = 0;

  constructor(
    private readonly atOnce: number,
    private readonly restMs: number,
    private readonly job: (key: K) => Promise<void>,
  ) {}

  request(key: K): void {
    this.waiting.add(key);
    this.next();
  }

  private next(): void {
    for (const key of this.waiting) {
      if (this.running >= this.atOnce) return;
      if (this.resting.has(key)) continue;
      this.waiting.delete(key);
      this.resting.add(key);
      this.running++;
      void this.job(key).finally(() => {
        this.running--;
        setTimeout(() => {
          this.resting.delete(key);
          this.next();
        }, this.restMs);
        this.next();
      });
    }
  }
}
