import { type Calls, createCalls, newIdempotencyKey, type Output, type Result } from '@recur/client';

export type Exchanged = Omit<Output<'/portal/session/exchange'>, 'token'>;

/** Seconds before the end of a token at which the next one is asked for. */
const refreshAheadSeconds = 60;
const shortestWaitMs = 10_000;

/**
 * The session of one page: the token of its user, which is kept here and nowhere else, so a reload ends it. Calls
 * `onOver` once the token is refused.
 */
export class Session {
  readonly client: Calls;
  #token: string | undefined;
  #over: (() => void) | undefined;
  readonly #openKey = newIdempotencyKey();

  constructor(
    baseUrl: string,
    private readonly nowMs: () => number,
  ) {
    const client = createCalls({ baseUrl, credential: () => this.#token });
    const watched = async <D>(answer: Promise<Result<D>>) => {
      const result = await answer;
      if (!result.ok && result.error.status === 401 && this.#token !== undefined) this.#end();
      return result;
    };
    this.client = {
      get: (path, input, options) => watched(client.get(path, input, options)),
      post: (path, input, options) => watched(client.post(path, input, options)),
      pages: client.pages,
    };
  }

  /** Exchanges the client session of a link. A repeat after a lost answer has the same key, so it gets that answer. */
  async open(clientSession: string): Promise<Result<Exchanged>> {
    const idempotencyKey = this.#openKey;
    const result = await this.client.post('/portal/session/exchange', { clientSession }, { idempotencyKey });
    if (!result.ok) return result;
    const { token, ...exchanged } = result.data;
    this.#keep(token, exchanged.expiresAt);
    return { ...result, data: exchanged };
  }

  onOver(over: () => void): void {
    this.#over = over;
  }

  #keep(token: string, expiresAt: number): void {
    this.#token = token;
    const leftMs = (expiresAt - refreshAheadSeconds) * 1000 - this.nowMs();
    setTimeout(() => void this.#refresh(), Math.max(leftMs, shortestWaitMs));
  }

  async #refresh(): Promise<void> {
    if (this.#token === undefined) return;
    const result = await this.client.post('/portal/session/refresh', {});
    if (result.ok) this.#keep(result.data.token, result.data.expiresAt);
    else if (result.error.retryable) setTimeout(() => void this.#refresh(), shortestWaitMs);
    else this.#end();
  }

  #end(): void {
    this.#token = undefined;
    this.#over?.();
  }
}
