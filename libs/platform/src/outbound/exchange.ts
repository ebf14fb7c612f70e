import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type FailureReason, networkCode, Unreachable } from './failure.js';

/** A request to an origin; `path` includes the query. */
export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: Buffer | string;
}

export interface HttpAnswer {
  status: number;
  retryAfter: string | string[] | undefined;
  bytes: Buffer;
}

/** Ends a request early. */
interface Controller {
  abort(reason: Error): void;
}

/** Handler of one request, from before it has a connection to the end of the answer, over either version of HTTP. */
export class Exchange implements Dispatcher.DispatchHandler {
  private readonly timer: NodeJS.Timeout;
  /** The outcome is known: nothing that comes after it counts. */
  over = false;
  private controller: Controller | undefined;
  private late: Error | undefined;
  private status = 0;
  private retryAfter: HttpAnswer['retryAfter'];
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    deadlineMs: number,
    private readonly maxBytes: number,
    private readonly resolve: (answer: HttpAnswer) => void,
    private readonly reject: (error: Error) => void,
  ) {
    this.timer = setTimeout(() => {
      this.late = new Unreachable('timeout', `no complete answer within ${deadlineMs} ms`);
      this.over = true;
      this.reject(this.late);
      this.controller?.abort(this.late);
    }, deadlineMs);
  }

  /** Called once there is a connection, which may be after the deadline. */
  onRequestStart(controller: Controller): void {
    this.controller = controller;
    if (this.late) controller.abort(this.late);
  }

  /** Called for informational answers too; the last call counts. */
  onResponseStart(_: Controller, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.retryAfter = headers['retry-after'];
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size < this.maxBytes) return;
    this.onResponseEnd();
    controller.abort(new Error('the rest of the answer is not wanted'));
  }

  onResponseEnd(): void {
    this.over = true;
    clearTimeout(this.timer);
    const bytes = Buffer.concat(this.chunks).subarray(0, this.maxBytes);
    this.resolve({ status: this.status, retryAfter: this.retryAfter, bytes });
  }

  onResponseError(_: unknown, error: Error): void {
    this.over = true;
    clearTimeout(this.timer);
    this.reject(error);
  }
}

/** Retry-After in seconds from now: a number or an HTTP date (RFC 9110 §10.2.3); undefined if it is neither. */
export function secondsOf(header: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const seconds = Math.ceil((Date.parse(header) - nowMs) / 1000);
  return seconds >= 0 ? seconds : undefined;
}

/** Reason and detail of a failed exchange. Rethrows errors that can only be a bug of ours. */
export function exchangeFailure(error: unknown): { reason: FailureReason; detail: string } {
  if (error instanceof Unreachable) return error;
  const code = networkCode(error);
  if (error instanceof TypeError || /^(UND_ERR_INVALID_ARG|ERR_INVALID_)/.test(code ?? '')) throw error;
  // parser errors carry no code
  const unparsed = error instanceof Error && error.name === 'HTTPParserError';
  const nonsense = unparsed || /^UND_ERR_(HEADERS_OVERFLOW|RES)/.test(code ?? '');
  return nonsense
    ? { reason: 'protocol', detail: code ?? 'the answer is no valid HTTP' }
    : { reason: 'reset', detail: code ?? 'failed' };
}
