import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { buildConnector, Pool } from 'undici';
import type { Exchange, HttpRequest } from './exchange.js';
import { Unreachable } from './failure.js';
import type { Http2Session } from './http2-session.js';

/** Times that a request is sent again after the server refused to begin with it (RFC 9113 §8.7). */
const refusals = 2;

export interface OriginParts {
  /** Makes a pool of HTTP/1.1 connections. */
  poolOf(origin: string, connect: buildConnector.connector): Pool;
  /** Connect functions, which check addresses: `either` offers HTTP/2 too. */
  http1: buildConnector.connector;
  either: buildConnector.connector;
  /** Time that an HTTP/2 session is kept without a request, and that a request may take. */
  keptMs: number;
  deadlineMs: number;
}

/**
 * The connections to one origin: one HTTP/2 session where the server chooses that in the TLS handshake, a pool of HTTP/1.1
 * connections otherwise. Requests wait for the first handshake, which tells; its connection is used.
 */
export class Origin {
  /** Requests under way. */
  inFlight = 0;
  private pool: Pool | undefined;
  private session: Http2Session | undefined;
  /** With those on which only requests under way are left. */
  private readonly sessions = new Set<Http2Session>();
  private connecting: Promise<void> | undefined;
  /** The connection of the handshake, until the pool takes it. */
  private first: Socket | undefined;
  private abandon: (error: Error) => void = () => undefined;
  private destroyed = false;

  constructor(
    private readonly origin: string,
    private readonly parts: OriginParts,
  ) {
    if (!origin.startsWith('https:')) this.usePool();
  }

  /** Sends a request; what comes of it goes to `exchange`. Never rejects. */
  async send(sent: HttpRequest, exchange: Exchange): Promise<void> {
    try {
      for (let refused = 0; !exchange.over; refused++) {
        if (!this.pool && !this.session?.usable) await this.connected();
        if (exchange.over) return;
        if (this.pool) return void this.pool.dispatch(sent, exchange);
        const fate = await this.session?.request(sent, exchange);
        if (fate === 'taken') return;
        if (fate === 'http1') this.usePool();
        else if (refused === refusals) throw new Unreachable('reset', 'REFUSED_STREAM');
      }
    } catch (error) {
      exchange.onResponseError(undefined, error as Error);
    }
  }

  /** Closes every connection; pending requests fail. */
  async destroy(): Promise<void> {
    this.destroyed = true;
    this.abandon(gone());
    this.first?.destroy();
    for (const session of this.sessions) session.destroy();
    await this.pool?.destroy();
  }

  /** Resolves once there is a pool or a session; requests that wait share the outcome of a handshake. */
  private connected(): Promise<void> {
    this.connecting ??= this.connect().finally(() => {
      this.connecting = undefined;
    });
    return this.connecting;
  }

  private async connect(): Promise<void> {
    const { Http2Session } = await import('./http2-session.js');
    if (this.destroyed) throw gone();
    const socket = await this.handshake();
    if (socket.alpnProtocol === 'h2') {
      const session = new Http2Session(this.origin, socket, this.parts, () => this.sessions.delete(session));
      this.sessions.add(session);
      this.session = session;
    } else {
      this.first = socket;
      this.usePool();
    }
  }

  private handshake(): Promise<TLSSocket> {
    const { protocol, host, hostname, port } = new URL(this.origin);
    return new Promise((resolve, reject) => {
      this.abandon = reject;
      this.parts.either({ protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }, (error, socket) => {
        if (error !== null) return reject(error);
        // the promise may be rejected already
        if (this.destroyed) socket.destroy();
        resolve(socket as TLSSocket);
      });
    });
  }

  private usePool(): void {
    this.pool ??= this.parts.poolOf(this.origin, (options, callback) => {
      const { first } = this;
      this.first = undefined;
      if (!first || first.destroyed) return this.parts.http1(options, callback);
      // undici does not expect an answer before its call returns
      queueMicrotask(() => callback(null, first));
    });
  }
}

const gone = () => new Unreachable('reset', 'UND_ERR_DESTROYED');
