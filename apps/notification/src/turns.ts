/**
 * Runs one job for each key that asks for it: at most `atOnce` of them at a time, never two of one key, in the order in
 * which they asked. Who asks while its job is running gets another run after it. The job must not fail.
 */
export class Turns<K> {
  private readonly waiting = new Set<K>();
  private readonly running = new Set<K>();

  constructor(
    private readonly atOnce: number,
    private readonly job: (key: K) => Promise<void>,
  ) {}

  ask(key: K): void {
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
