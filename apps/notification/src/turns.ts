/**
 * Runs one job for each key that asks for it: at most `atOnce` of them at a time, never two of one key, in the order in
 * which they asked. Who asks while its job is running, or has run less than `restMs` ago, gets another run after that:
 * so under load each run does much, and the first is never late. The job must not fail.
 */
export class Turns<K> {
  private readonly waiting = new Set<K>();
  private readonly resting = new Set<K>();
  private running = 0;

  constructor(
    private readonly atOnce: number,
    private readonly restMs: number,
    private readonly job: (key: K) => Promise<void>,
  ) {}

  ask(key: K): void {
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
