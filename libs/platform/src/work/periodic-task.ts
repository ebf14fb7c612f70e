/**
 * What a worker does again and again: one round after the other, `everyMs` between the end of one and the beginning of
 * the next. A round that fails is told to `failed`, and the next one comes all the same.
 */
export class PeriodicTask {
  private timer: NodeJS.Timeout | undefined;
  private underway: Promise<unknown> | undefined;
  private state: 'new' | 'running' | 'stopped' = 'new';
  private woken = false;

  constructor(
    private readonly everyMs: number,
    private readonly round: () => Promise<unknown>,
    private readonly failed: (error: unknown) => void,
  ) {}

  get running(): boolean {
    return this.state === 'running';
  }

  /** Whether it was stopped: a long round looks at it, and ends early. */
  get stopped(): boolean {
    return this.state === 'stopped';
  }

  /** The first round begins at once. */
  start(): void {
    this.state = 'running';
    this.begin();
  }

  /** The next round is not waited for: it begins now, or when the one that is under way is over. */
  wake(): void {
    if (!this.running) return;
    this.woken = true;
    if (!this.underway) this.begin();
  }

  /** Resolves when the round that is under way is over. */
  async stop(): Promise<void> {
    this.state = 'stopped';
    clearTimeout(this.timer);
    await this.underway;
  }

  private begin(): void {
    clearTimeout(this.timer);
    this.woken = false;
    this.underway = this.round()
      .catch(this.failed)
      .then(() => {
        this.underway = undefined;
        if (this.running) this.timer = setTimeout(() => this.begin(), this.woken ? 0 : this.everyMs);
      });
  }
}
