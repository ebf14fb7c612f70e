/**
 * A worker's recurring task: rounds one after the other, `everyMs` between the end of one and the start of the next. A
 * failed round is reported to `failed` and does not stop the next.
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

  /** True once stopped; a long round checks it and ends early. */
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
