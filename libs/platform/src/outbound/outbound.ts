import { Resolver } from 'node:dns/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import { type AddressRules, checkUrl, isLocalhost, refusedAddress } from './address.js';

/** The limits of one request and of what is kept between requests. */
export const limits = {
  deadlineMs: 15_000,
  answerBytes: 65_536,
  answerHeaderBytes: 16_384,
  /** More requests to one origin at once wait for each other, within their deadlines. */
  connectionsPerOrigin: 128,
  /** Origins whose connections are kept when nothing is under way to them. */
  idleOrigins: 256,
  /** URLs whose check is kept. */
  checkedUrls: 1_000,
  keepAliveMs: 4_000,
  keepAliveMaxMs: 30_000,
  /** A name server is asked this often, and waited for this long each time. */
  lookupTries: 2,
  lookupMs: 2_500,
  /** How long one of several addresses is tried before the next is. */
  addressAttemptMs: 1_000,
} as const;

/** Why there is no answer: refused by us (url, address), or what of the way to it failed. */
export type FailureReason = 'url' | 'address' | 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol';

/**
 * What came of a request. `detail` is an error code or a sentence that a merchant may see: it holds no address but one
 * that stands in the URL itself. `body` is what was read of the answer, as UTF-8 without NUL (which PostgreSQL cannot
 * store).
 */
export type Result =
  | { kind: 'answered'; status: number; retryAfterSeconds?: number; body: string; durationMs: number }
  | { kind: 'failed'; reason: FailureReason; detail: string; durationMs: number };

export interface OutboundOptions extends AddressRules {
  /** Over everything: lookup, connect, request, headers and body of the answer. */
  deadlineMs?: number;
  answerBytes?: number;
  connectionsPerOrigin?: number;
  idleOrigins?: number;
  /** The addresses of a host name; rejects or answers none where there are none. Default: the system's name servers. */
  resolve?: (name: string) => Promise<readonly string[]>;
  /** Unix milliseconds, for durations and for a Retry-After that is a date. */
  now?: () => number;
}

/** A URL that was checked: the problem with it, or where it leads. */
type Checked = { problem: string } | { problem: undefined; origin: string; path: string };

type Method = 'GET' | 'POST';
type Body = Buffer | string;

type Undici = typeof import('undici');
let client: Undici | undefined;

/** The client takes a tenth of a second to load, and most processes that could send something never do. */
async function loaded(): Promise<Undici> {
  client ??= await import('undici');
  return client;
}

/** A failure of the network or of the other side, or our refusal: it becomes a Result, never an exception. */
class Unreachable extends Error {
  constructor(
    readonly reason: FailureReason,
    readonly detail: string,
  ) {
    super(`${reason}: ${detail}`);
  }
}

/**
 * The one way out: requests to URLs that merchants chose. Each request is checked three times (the URL's text, every
 * address that its name resolves to, the address that the socket is connected to), and the addresses checked are the
 * ones connected to, so a name cannot change its mind in between. Redirects are not followed: a 3xx is an answer.
 * Connections are kept alive. How many requests run at once is the caller's affair.
 */
export class Outbound {
  /** Least recently used first. */
  private readonly origins = new Map<string, { pool: Pool; inFlight: number }>();
  private readonly checked = new Map<string, Checked>();
  private connect: buildConnector.connector | undefined;
  private readonly resolve: (name: string) => Promise<readonly string[]>;
  private readonly now: () => number;

  constructor(private readonly options: OutboundOptions) {
    this.resolve = options.resolve ?? nameServers();
    this.now = options.now ?? Date.now;
  }

  /**
   * Sends `body` and waits for the whole answer, or for the first `answerBytes` of it: the rest is given up with its
   * connection. Throws only on a bug, such as an impossible header.
   */
  post(url: string, headers: Record<string, string>, body: Buffer | string): Promise<Result> {
    return this.send('POST', url, headers, body);
  }

  /** The same, without a body. */
  get(url: string, headers: Record<string, string> = {}): Promise<Result> {
    return this.send('GET', url, headers);
  }

  /** Ends every connection; what is under way fails. */
  async close(): Promise<void> {
    const open = [...this.origins.values()];
    this.origins.clear();
    await Promise.all(open.map(({ pool }) => pool.destroy()));
  }

  private async send(method: Method, url: string, headers: Record<string, string>, body?: Body): Promise<Result> {
    const startedMs = this.now();
    try {
      const checked = this.check(url);
      if (checked.problem !== undefined) throw new Unreachable('url', checked.problem);
      const { status, retryAfter, text } = await this.exchange(checked, { method, headers, body });
      const endedMs = this.now();
      const retryAfterSeconds = secondsOf(retryAfter, endedMs);
      return { kind: 'answered', status, retryAfterSeconds, body: text, durationMs: endedMs - startedMs };
    } catch (error) {
      const { reason, detail } = exchangeFailure(error);
      return { kind: 'failed', reason, detail, durationMs: this.now() - startedMs };
    }
  }

  /** Checks the URL's text. The result depends on nothing else, so it is kept: parsing costs as much as signing. */
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
    sent: { method: Method; headers: Record<string, string>; body?: Body },
  ): Promise<Answer> {
    const { deadlineMs = limits.deadlineMs, answerBytes = limits.answerBytes } = this.options;
    const taken = this.take(origin, await loaded());
    try {
      return await new Promise((resolve, reject) => {
        taken.pool.dispatch({ ...sent, path }, new Exchange(deadlineMs, answerBytes, resolve, reject));
      });
    } finally {
      taken.inFlight--;
      this.trim();
    }
  }

  /** The pool of an origin, new or kept, marked as used. */
  private take(url: string, undici: Undici) {
    const origin = this.origins.get(url) ?? { pool: this.open(url, undici), inFlight: 0 };
    this.origins.delete(url);
    this.origins.set(url, origin);
    origin.inFlight++;
    return origin;
  }

  /** Gives up the connections of the origins that were not used for longest, down to the limit. */
  private trim(): void {
    let surplus = this.origins.size - (this.options.idleOrigins ?? limits.idleOrigins);
    for (const [url, { pool, inFlight }] of this.origins) {
      if (surplus <= 0) return;
      if (inFlight > 0) continue;
      this.origins.delete(url);
      void pool.destroy();
      surplus--;
    }
  }

  private open(origin: string, { Pool, buildConnector }: Undici): Pool {
    this.connect ??= this.connector(buildConnector);
    return new Pool(origin, {
      connect: this.connect,
      connections: this.options.connectionsPerOrigin ?? limits.connectionsPerOrigin,
      pipelining: 1,
      keepAliveTimeout: limits.keepAliveMs,
      keepAliveMaxTimeout: limits.keepAliveMaxMs,
      maxHeaderSize: limits.answerHeaderBytes,
      // Both are idle timers, which a slow drip never trips; the deadline covers what they would.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  private connector(build: Undici['buildConnector']): buildConnector.connector {
    const { allowLoopback } = this.options;
    const connect = build({
      lookup: this.lookup,
      // An aborted request does not abort a connect that is under way: that ends by this.
      timeout: this.options.deadlineMs ?? limits.deadlineMs,
      autoSelectFamilyAttemptTimeout: limits.addressAttemptMs,
    });
    return (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) return callback(connectFailure(error, options.protocol), null);
        if (refusedAddress(socket.remoteAddress ?? '', allowLoopback) === undefined) return callback(null, socket);
        socket.destroy();
        callback(new Unreachable('address', 'connected to an address that is not public'), null);
      });
  }

  /** What a socket calls to find its addresses; not called for a host that is an address itself. */
  private readonly lookup: LookupFunction = (name, options, callback) => {
    this.addressesOf(name).then(
      addresses => {
        const [first] = addresses;
        if (first === undefined) callback(new Unreachable('dns', 'ENODATA'), []);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };

  /** One refused address refuses the name: nobody who means well lists a private address beside a public one. */
  private async addressesOf(name: string) {
    const { allowLoopback } = this.options;
    const local = allowLoopback && isLocalhost(name.replace(/\.$/, ''));
    const addresses = local ? ['127.0.0.1', '::1'] : await this.resolve(name).catch(lookupFailed);
    if (addresses.some(address => refusedAddress(address, allowLoopback) !== undefined)) {
      throw new Unreachable('address', 'the host has an address that is not public');
    }
    return addresses.map(address => ({ address, family: isIP(address) }));
  }
}

/**
 * Asks the name servers themselves. getaddrinfo would take one of libuv's four threads for each slow name, so that a
 * few merchants' dead name servers could hold up everybody; the price is that the hosts file is not read.
 */
function nameServers() {
  const resolver = new Resolver({ timeout: limits.lookupMs, tries: limits.lookupTries });
  return async (name: string): Promise<string[]> => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = [v4, v6].flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
    return found;
  };
}

const addressed = ({ origin, pathname, search }: URL): Checked => ({
  problem: undefined,
  origin,
  path: pathname + search,
});

interface Answer {
  status: number;
  retryAfter: string | string[] | undefined;
  text: string;
}

/** One request, from before it has a connection to the end of its answer. */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly timer: NodeJS.Timeout;
  private controller: Dispatcher.DispatchController | undefined;
  private late: Error | undefined;
  private status = 0;
  private retryAfter: Answer['retryAfter'];
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    deadlineMs: number,
    private readonly maxBytes: number,
    private readonly resolve: (answer: Answer) => void,
    private readonly reject: (error: Error) => void,
  ) {
    this.timer = setTimeout(() => {
      this.late = new Unreachable('timeout', `no complete answer within ${deadlineMs} ms`);
      this.reject(this.late);
      this.controller?.abort(this.late);
    }, deadlineMs);
  }

  /** There is a connection; perhaps too late. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.late) controller.abort(this.late);
  }

  /** Comes for each informational answer, too: the last one counts. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.retryAfter = headers['retry-after'];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size < this.maxBytes) return;
    this.onResponseEnd();
    controller.abort(new Error('the rest of the answer is not wanted'));
  }

  onResponseEnd(): void {
    clearTimeout(this.timer);
    const text = Buffer.concat(this.chunks).subarray(0, this.maxBytes).toString('utf8').replaceAll('\0', '\uFFFD');
    this.resolve({ status: this.status, retryAfter: this.retryAfter, text });
  }

  onResponseError(_: unknown, error: Error): void {
    clearTimeout(this.timer);
    this.reject(error);
  }
}

/** Retry-After as seconds from now: it is a number of them or an HTTP date (RFC 9110 §10.2.3). Nonsense is ignored. */
function secondsOf(header: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const seconds = Math.ceil((Date.parse(header) - nowMs) / 1000);
  return seconds >= 0 ? seconds : undefined;
}

function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function lookupFailed(error: unknown): never {
  throw new Unreachable('dns', codeOf(error) ?? 'failed');
}

function connectFailure(error: Error, protocol: string): Error {
  if (error instanceof Unreachable) return error;
  const code = codeOf(error) ?? 'failed';
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return new Unreachable('timeout', code);
  const noWay = /^(ECONNREFUSED|EHOST|ENET|EADDR|EACCES|EMFILE|ENFILE)/.test(code);
  return new Unreachable(protocol === 'https:' && !noWay ? 'tls' : 'connect', code);
}

/** What went wrong once a request was under way. Rethrows what can only be our own bug. */
function exchangeFailure(error: unknown): { reason: FailureReason; detail: string } {
  if (error instanceof Unreachable) return error;
  const code = codeOf(error);
  if (error instanceof TypeError || code === 'UND_ERR_INVALID_ARG') throw error;
  // its parser names no code
  const unparsed = error instanceof Error && error.name === 'HTTPParserError';
  const nonsense = unparsed || /^UND_ERR_(HEADERS_OVERFLOW|RES)/.test(code ?? '');
  return nonsense
    ? { reason: 'protocol', detail: code ?? 'the answer is no valid HTTP' }
    : { reason: 'reset', detail: code ?? 'failed' };
}
