import { type AddressRules, checkUrl } from './address.js';
import { Exchange, exchangeFailure, type HttpAnswer, type HttpRequest, secondsOf } from './exchange.js';
import { type FailureReason, Unreachable } from './failure.js';
import { GuardedConnector, type Resolve } from './guarded-connector.js';
import { Origin, type OriginParts } from './origin.js';

/** The limits of one request and of what is kept between requests. */
export const limits = {
  deadlineMs: 15_000,
  answerBytes: 65_536,
  answerHeaderBytes: 16_384,
  /** HTTP/1.1: further concurrent requests to one origin wait, within their deadlines. */
  connectionsPerOrigin: 128,
  /** Idle origins whose connections are kept. */
  idleOrigins: 256,
  /** Cached URL checks. */
  checkedUrls: 1_000,
  keepAliveMs: 4_000,
  keepAliveMaxMs: 30_000,
} as const;

/**
 * Outcome of a request. `detail` is an error code or a sentence, safe to show to a merchant: it contains no address
 * except one in the URL itself. `bytes` are the part of the answer that was read, and `body` is that as UTF-8 without NUL
 * (which PostgreSQL cannot store).
 */
export type OutboundResult =
  | { kind: 'answered'; status: number; retryAfterSeconds?: number; body: string; bytes: Buffer; durationMs: number }
  | { kind: 'failed'; reason: FailureReason; detail: string; durationMs: number };

export interface OutboundOptions extends AddressRules {
  /** Covers lookup, connect, request, and the answer's headers and body. */
  deadlineMs?: number;
  answerBytes?: number;
  connectionsPerOrigin?: number;
  idleOrigins?: number;
  /** Default: queries the system's name servers. */
  resolve?: Resolve;
  /** Certificate authorities, as PEM, instead of the well-known ones. */
  ca?: string;
  /** Unix milliseconds, for durations and for a Retry-After that is a date. */
  now?: () => number;
}

/** Result of checking a URL: its problem, or its origin and path. */
type Checked = { problem: string } | { problem: undefined; origin: string; path: string };

type Undici = typeof import('undici');
let client: Undici | undefined;

/** Loads undici on first use: it takes a tenth of a second, and most processes never send a request. */
async function loadUndici(): Promise<Undici> {
  client ??= await import('undici');
  return client;
}

/**
 * HTTP client for URLs that merchants chose, the only way out. Each request is checked three times: the URL's text here,
 * every resolved address and the connected address in GuardedConnector. Redirects are not followed: a 3xx is an answer.
 * Connections are kept alive, and speak HTTP/2 where the server offers it. The caller limits how many requests run at once.
 */
export class Outbound {
  /** Least recently used first. */
  private readonly origins = new Map<string, Origin>();
  private readonly checked = new Map<string, Checked>();
  private parts: OriginParts | undefined;
  private readonly connector: GuardedConnector;
  private readonly now: () => number;

  constructor(private readonly options: OutboundOptions) {
    this.connector = new GuardedConnector(
      options,
      options.deadlineMs ?? limits.deadlineMs,
      options.resolve,
      options.ca,
    );
    this.now = options.now ?? Date.now;
  }

  /**
   * Sends `body` and reads the answer, at most `answerBytes` of it: the connection of a longer answer is closed. Throws
   * only on a bug, such as an invalid header.
   */
  post(url: string, headers: Record<string, string>, body: Buffer | string): Promise<OutboundResult> {
    return this.send('POST', url, headers, body);
  }

  /** Like `post`, without a body. */
  get(url: string, headers: Record<string, string> = {}): Promise<OutboundResult> {
    return this.send('GET', url, headers);
  }

  /** Closes every connection; pending requests fail. */
  async close(): Promise<void> {
    const open = [...this.origins.values()];
    this.origins.clear();
    await Promise.all(open.map(origin => origin.destroy()));
  }

  private async send(
    method: HttpRequest['method'],
    url: string,
    headers: HttpRequest['headers'],
    body?: HttpRequest['body'],
  ): Promise<OutboundResult> {
    const startedMs = this.now();
    try {
      const checked = this.check(url);
      if (checked.problem !== undefined) throw new Unreachable('url', checked.problem);
      const { status, retryAfter, bytes } = await this.exchange(checked, { method, headers, body });
      const endedMs = this.now();
      const retryAfterSeconds = secondsOf(retryAfter, endedMs);
      const text = bytes.toString('utf8').replaceAll('\0', '\uFFFD');
      return { kind: 'answered', status, retryAfterSeconds, body: text, bytes, durationMs: endedMs - startedMs };
    } catch (error) {
      const { reason, detail } = exchangeFailure(error);
      return { kind: 'failed', reason, detail, durationMs: this.now() - startedMs };
    }
  }

  /** Checks the URL's text. The result depends on nothing else, so it is cached: parsing costs as much as signing. */
  private check(url: string): Checked {
    const known = this.checked.get(url);
    if (known) return known;
    const problem = checkUrl(url, this.options);
    const checked = problem === undefined ? addressed(new URL(url)) : { problem };
    if (this.checked.size >= limits.checkedUrls) this.checked.clear();
    this.checked.set(url, checked);
    return checked;
  }

  private async exchange(
    { origin, path }: { origin: string; path: string },
    sent: Omit<HttpRequest, 'path'>,
  ): Promise<HttpAnswer> {
    const { deadlineMs = limits.deadlineMs, answerBytes = limits.answerBytes } = this.options;
    const taken = this.take(origin, await loadUndici());
    try {
      return await new Promise((resolve, reject) => {
        void taken.send({ ...sent, path }, new Exchange(deadlineMs, answerBytes, resolve, reject));
      });
    } finally {
      taken.inFlight--;
      this.trim();
    }
  }

  /** An origin, new or kept, marked as used. */
  private take(url: string, undici: Undici): Origin {
    this.parts ??= this.partsOf(undici);
    const origin = this.origins.get(url) ?? new Origin(url, this.parts);
    this.origins.delete(url);
    this.origins.set(url, origin);
    origin.inFlight++;
    return origin;
  }

  /** Closes the connections of the least recently used idle origins, down to the limit. */
  private trim(): void {
    let surplus = this.origins.size - (this.options.idleOrigins ?? limits.idleOrigins);
    for (const [url, origin] of this.origins) {
      if (surplus <= 0) return;
      if (origin.inFlight > 0) continue;
      this.origins.delete(url);
      void origin.destroy();
      surplus--;
    }
  }

  private partsOf({ Pool, buildConnector }: Undici): OriginParts {
    const { deadlineMs = limits.deadlineMs, connectionsPerOrigin: connections = limits.connectionsPerOrigin } =
      this.options;
    const poolOf: OriginParts['poolOf'] = (origin, connect) =>
      new Pool(origin, {
        connect,
        connections,
        pipelining: 1,
        keepAliveTimeout: limits.keepAliveMs,
        keepAliveMaxTimeout: limits.keepAliveMaxMs,
        maxHeaderSize: limits.answerHeaderBytes,
        // both are idle timers, which a slow drip never trips; the deadline covers their cases
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    const http1 = this.connector.connectWith(buildConnector, false);
    const either = this.connector.connectWith(buildConnector, true);
    return { poolOf, http1, either, keptMs: limits.keepAliveMaxMs, deadlineMs };
  }
}

const addressed = ({ origin, pathname, search }: URL): Checked => ({
  problem: undefined,
  origin,
  path: pathname + search,
});
