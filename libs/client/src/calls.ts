import { newIdempotencyKey } from './random.js';
import { type Failure, type Result, read, unanswered } from './result.js';
import type { Entry, Input, ListPath, Output, Path } from './table.js';

export interface Options {
  /** Where the API is, with a path if it has one: `https://billing.example.com`. */
  baseUrl: string;
  /** An API key or token, or how to get the present one; absent or undefined sends none. */
  credential?: string | (() => string | undefined);
  /** How many times a call is sent at most. */
  attempts?: number;
  /** Deadline of one attempt; the gateway answers within 8 s, if only that the outcome is unknown. */
  timeoutMs?: number;
  /** The first pause before a retry; it doubles with each. */
  pauseMs?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  /**
   * The key of the intent: a call repeated under the key of an earlier one has its effect once. Absent or blank: a new key.
   * null: none, for what is safe to repeat by itself.
   */
  idempotencyKey?: string | null;
  signal?: AbortSignal;
}

/** Calls operations of the API by their path. A call never rejects: what went wrong is in the result. */
export interface Calls {
  get<P extends Path<'GET'>>(path: P, input: Input<P>, options?: CallOptions): Promise<Result<Output<P>>>;
  post<P extends Path<'POST'>>(path: P, input: Input<P>, options?: CallOptions): Promise<Result<Output<P>>>;
  /** The entries of a list, page by page as they are consumed. Throws RecurError where a page cannot be read. */
  pages<P extends ListPath>(path: P, input: Input<P>, options?: CallOptions): AsyncGenerator<Entry<P>, void, void>;
}

/** A failure as an exception, for callers that prefer one: see `orThrow`. */
export class RecurError extends Error {
  override readonly name = 'RecurError';
  constructor(readonly failure: Failure) {
    super(`${failure.type}: ${failure.message}${failure.requestId && ` (${failure.requestId})`}`);
  }
}

/** The data of a successful call. Throws RecurError otherwise. */
export function orThrow<D>(result: Result<D>): D {
  if (result.ok) return result.data;
  throw new RecurError(result.error);
}

const defaults = { attempts: 4, timeoutMs: 15_000, pauseMs: 250 } as const;
const longestPauseMs = 30_000;
/** A total counts no further: there may be more. */
const countedTotal = 10_000;
const givenUp = 'The call was given up';

interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  idempotencyKey?: string | null;
  signal?: AbortSignal;
}

/** The calls to one deployment with one credential. Only the options are kept. */
export function createCalls(options: Options): Calls {
  const attempts = options.attempts ?? defaults.attempts;
  const pauseMs = options.pauseMs ?? defaults.pauseMs;

  /** Sends a call until it succeeds, fails for good, or was sent often enough; every attempt has the same key. */
  async function send<D>(call: Call): Promise<Result<D>> {
    for (let attempt = 1; ; attempt++) {
      const result = await once<D>(options, call);
      if (result.ok || !result.error.retryable || attempt >= attempts) return result;
      const waitMs = result.error.retryAfterSeconds * 1000 || pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
      if (waitMs > longestPauseMs) return result;
      if (!(await slept(waitMs, call.signal))) return unanswered('aborted', givenUp);
    }
  }
  const post = (path: string, input: object, { idempotencyKey, signal }: CallOptions = {}) => {
    const key = idempotencyKey === null ? null : idempotencyKey || newIdempotencyKey();
    return send({ method: 'POST', path, body: JSON.stringify(input), idempotencyKey: key, signal });
  };

  async function* pages(path: string, input: object, call: CallOptions = {}): AsyncGenerator {
    const { count = 100, page: first = 0 } = input as { count?: number; page?: number };
    for (let page = first; ; page++) {
      const data = orThrow(await post(path, { ...input, page, count }, { signal: call.signal })) as object;
      const { total } = data as { total: number };
      const entries = Object.values(data).find(Array.isArray) ?? [];
      yield* entries;
      const isLast = total < countedTotal && (page + 1) * count >= total;
      if (entries.length < count || isLast) return;
    }
  }
  const get = (path: string, input: object, { signal }: CallOptions = {}) =>
    send({ method: 'GET', path: `${path}${query(input)}`, signal });
  return { get, post, pages } as Calls;
}

async function once<D>({ baseUrl, credential, ...options }: Options, call: Call): Promise<Result<D>> {
  // by hand: AbortSignal.any is not in browsers of 2023
  const ending = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    ending.abort();
  }, options.timeoutMs ?? defaults.timeoutMs);
  const giveUp = () => ending.abort();
  call.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    if (call.signal?.aborted) return unanswered('aborted', givenUp);
    const bearer = typeof credential === 'function' ? credential() : credential;
    const response = await (options.fetch ?? fetch)(`${baseUrl.replace(/\/+$/, '')}${call.path}`, {
      method: call.method,
      headers: {
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
        ...(call.idempotencyKey && { 'idempotency-key': call.idempotencyKey }),
      },
      body: call.body,
      signal: ending.signal,
      redirect: 'error',
      // the request itself goes out, nothing of its page: no cookies, no Referer, no copy in the browser's cache
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      cache: 'no-store',
    });
    return read<D>(response.status, response.headers, await response.text());
  } catch (cause) {
    if (call.signal?.aborted) return unanswered('aborted', givenUp);
    const reason = isLate ? 'in time' : `(${cause instanceof Error ? cause.message : String(cause)})`;
    return unanswered('unreachable', `No answer came ${reason}: the outcome is unknown`);
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener('abort', giveUp);
  }
}

/** Waits; false if the signal ended it. */
export function slept(ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise(done => {
    if (signal?.aborted) return done(false);
    const stop = () => {
      clearTimeout(timer);
      done(false);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      done(true);
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** The fields of an input as a query; a list is repeated, an absent field left out. */
function query(input: object): string {
  const fields = Object.entries(input).flatMap(([name, value]) =>
    [value].flat().flatMap(each => (each === undefined || each === null ? [] : [[name, String(each)]])),
  );
  return fields.length === 0 ? '' : `?${new URLSearchParams(fields)}`;
}
