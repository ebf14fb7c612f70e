import { Inject, Injectable } from '@nestjs/common';
import { type ErrorKind, errors, type Operation } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CONFIG, LOG, type Log, metrics } from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram } from 'prom-client';
import type { GatewayConfig } from '../config.js';
import { gatewayLimits } from '../limits.js';
import { type Failure, failure, isRegistered, success } from './envelope.js';

const requestSeconds = new Histogram({
  name: 'recur_http_request_seconds',
  help: 'Time from the head of a request to its answer, by operation (none: no such path)',
  labelNames: ['operation'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 8],
  registers: [metrics],
});

const requests = new Counter({
  name: 'recur_http_requests_total',
  help: 'Requests answered, by operation (none: no such path) and outcome (ok or error slug)',
  labelNames: ['operation', 'outcome'],
  registers: [metrics],
});

/** Headers of every response: it is for one caller and not a page, so it must not be cached, sniffed, framed or run. */
const always = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Sends responses: envelope, status and headers, log entry and metrics. */
@Injectable()
export class Responses {
  /** While set, each response closes its connection. */
  draining = false;
  private readonly headers: Record<string, string>;

  constructor(
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(LOG) private readonly log: Log,
  ) {
    const https = config.BASE_URL.startsWith('https:');
    this.headers = { ...always, ...(https && { 'strict-transport-security': 'max-age=31536000' }) };
  }

  /** Sets the headers of every response, before anything else happens to a request. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    reply.headers(this.headers).header('x-request-id', request.id);
    if (this.draining) reply.header('connection', 'close');
  }

  /** `replayOf` is the first request with this Idempotency-Key, whose envelope is repeated. */
  succeed(reply: FastifyReply, operation: Operation, data: Uint8Array | string, replayOf?: string): void {
    const { request } = reply;
    if (replayOf !== undefined) reply.header('idempotency-replayed', 'true');
    const merchantId = request.principal?.merchantId ?? 0;
    this.send(reply, 200, success(data, merchantId, replayOf ?? request.id));
    this.record(reply, operation, 'ok');
  }

  /** Responds with a success that has no data, to a request that is no operation. */
  done(reply: FastifyReply): void {
    this.send(reply, 200, success('{}', 0, reply.request.id));
    this.record(reply, undefined, 'ok');
  }

  /** Responds with a failure: a rejection as its error is registered; anything else is a bug, and is logged. */
  refuse(reply: FastifyReply, error: unknown, operation?: Operation): void {
    const { request } = reply;
    const failed = this.failureOf(error, request);
    const { http }: ErrorKind = errors[failed.slug];
    if ((http === 503 || http === 429) && !reply.hasHeader('retry-after')) {
      reply.header('retry-after', String(gatewayLimits.retryAfterSeconds));
    }
    // Fastify's body parser asks to close the connection, but a client that is still sending would miss the response
    if (!this.draining) reply.removeHeader('connection');
    this.send(reply, http, failure(failed, request.principal?.merchantId ?? 0, request.id));
    this.record(reply, operation, failed.slug);
  }

  private failureOf(error: unknown, { id: requestId, principal, traceparent }: FastifyRequest): Failure {
    if (error instanceof Rejected && isRegistered(error.slug)) {
      return { slug: error.slug, message: error.message || undefined, issues: error.issues };
    }
    const traceId = traceparent.split('-')[1];
    this.log.error(
      { err: error, requestId, traceId, merchantId: principal?.merchantId },
      'a request failed unexpectedly',
    );
    return { slug: 'internal_error', issues: [] };
  }

  private send(reply: FastifyReply, status: number, envelope: Buffer): void {
    reply.code(status).header('content-type', 'application/json; charset=utf-8').send(envelope);
  }

  private record(reply: FastifyReply, operation: Operation | undefined, outcome: string): void {
    const command = operation === undefined ? 'none' : `${operation.service}.${operation.name}`;
    requestSeconds.observe({ operation: command }, reply.elapsedTime / 1000);
    requests.inc({ operation: command, outcome });
    if (!this.log.isLevelEnabled('debug')) return;
    const { id: requestId, principal, traceparent } = reply.request;
    const traceId = traceparent.split('-')[1];
    const durationMs = Math.round(reply.elapsedTime * 10) / 10;
    this.log.debug({ requestId, traceId, merchantId: principal?.merchantId, command, outcome, durationMs }, 'answered');
  }
}
