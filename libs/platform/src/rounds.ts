/**
 * What a worker does again and again: one round after the other, `everyMs` between the end of one and the beginning of
 * the next. A round that fails is told to `failed`, and the next one comes all the same.
 */
export class Rounds {
  private timer: NodeJS.Timeout | undefined;
  private underway: Promise<unknown> = Promise.resolve();
  private ended = false;

  constructor(
    private readonly everyMs: number,
    private readonly round: () => Promise<unknown>,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Whether it was stopped: a long round looks at it, and ends early. */
  get stopped(): boolean {
    return this.ended;
  }

  /** The first round begins at once. */
  start(): void {
    this.underway = this.round()
      .catch(this.failed)
      .then(() => {
        if (!this.ended) this.timer = setTimeout(() => this.start(), this.everyMs);
      });
  }

  /** Resolves when the round that is under way is over. */
  async stop(): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.underway;
  }
}
