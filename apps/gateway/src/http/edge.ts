import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type ErrorKind, errors, type Slug } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.js';
import { gatewayLimits } from '../limits.js';
import { formType, ndjsonType } from './body.js';
import { limitConnections } from './connections.js';
import { failure } from './envelope.js';
import { rememberMethods } from './methods.js';
import { rememberResponses, responseDueOn } from './node-server.js';
import type { Responses } from './responses.js';
import { requestSpan, traceparentOf } from './trace.js';

/** Fastify's own refusals, as our errors. */
const slugs: Record<string, Slug> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'unknown_path',
  FST_ERR_MAX_PARAM_LENGTH: 'unknown_path',
};

/** Nest on Fastify, with the envelope in place of every response that Fastify and Node make by themselves. */
export class Edge extends FastifyAdapter {
  constructor(config: GatewayConfig, responses: Responses, newRequestId: () => string) {
    super({
      logger: false,
      skipMiddie: true,
      genReqId: newRequestId,
      requestIdHeader: false,
      trustProxy: config.TRUST_PROXY ? (_address, hop) => hop === 0 : false,
      bodyLimit: gatewayLimits.bodyBytes,
      requestTimeout: gatewayLimits.requestMs,
      return503OnClosing: false,
      http: {
        headersTimeout: gatewayLimits.headersMs,
        connectionsCheckingInterval: 2_000,
        maxHeaderSize: gatewayLimits.headerBytes,
        // joins a second Authorization to the first, which makes it invalid; Node would drop it silently
        joinDuplicateHeaders: true,
        // checked by us, since Node would answer without the envelope
        requireHostHeader: false,
      },
      frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
        responses.begin(request, reply);
        responses.refuse(reply, rejectionOf(error, gatewayLimits.bodyBytes));
      },
      clientErrorHandler: (error, socket) =>
        refuseRaw(socket, clientErrors[error.code ?? ''] ?? noRequest, newRequestId()),
    });
    const http = this.getInstance();
    http.decorateRequest('principal', null);
    http.decorateRequest('traceparent', '');
    http.decorateRequest('span', null);
    http.decorateRequest('charged', null);
    http.decorateRequest('attempted', null);
    rememberMethods(http);
    http.addHook('onRequest', (request, reply, done) => {
      request.span = requestSpan(request);
      request.traceparent =
        request.span?.traceparent ?? traceparentOf(request.headers.traceparent as string | undefined);
      responses.begin(request, reply);
      const rejection = misaddressed(request);
      if (rejection === undefined) done();
      else responses.refuse(reply, rejection);
    });
    http.addHook('onResponse', (request, reply, done) => {
      request.span?.set({ 'http.response.status_code': reply.statusCode });
      request.span?.end();
      done();
    });
    http.removeAllContentTypeParsers();
    const types = ['application/json', ndjsonType, formType];
    http.addContentTypeParser(types, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    http.setErrorHandler((error, _request, reply) => {
      const { bodyLimit = gatewayLimits.bodyBytes, config } = reply.routeOptions;
      responses.refuse(reply, rejectionOf(error, bodyLimit), config.operation);
    });
    http.setNotFoundHandler((_request, reply) => responses.refuse(reply, new Rejected('unknown_path')));
    rememberResponses(http.server as HttpServer);
    limitConnections(http.server as HttpServer, config);
    http.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      http.server.emit('request', request, response);
    });
    http.server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
      refuseRaw(socket, new Rejected('unknown_path'), newRequestId()),
    );
  }

  /** No-op: the adapter's own handlers are set in the constructor. */
  override setErrorHandler() {
    return this.getInstance();
  }

  override setNotFoundHandler() {
    return this.getInstance();
  }
}

const oneHost = new Rejected('invalid_parameters', 'The request must have exactly one Host header');

/**
 * Rejection of a request whose host or path is ambiguous. A missing or second Host is read differently by different
 * servers (RFC 9112, 3.2). The router decodes percent signs in a path, and a proxy that guards a path by its name may not.
 */
function misaddressed({ headers: { host }, raw, url, routeOptions }: FastifyRequest): Rejected | undefined {
  // repeated headers are joined by commas, and no host has one
  if (host === undefined ? raw.httpVersion !== '1.0' : host.includes(',')) return oneHost;
  const path = url.split('?', 1)[0] as string;
  return path.includes('%') && !routeOptions.url?.includes(':') ? new Rejected('unknown_path') : undefined;
}

/** Maps client errors found by Fastify to ours; anything else stays a bug. `limit` is of the body, in bytes. */
function rejectionOf(error: unknown, limit: number): unknown {
  if (error instanceof Rejected || !(error instanceof Error)) return error;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const slug = slugs[code ?? ''];
  if (slug === 'body_too_large' && limit !== gatewayLimits.bodyBytes) {
    return new Rejected(slug, `The body is larger than ${limit / 1_024} KiB`);
  }
  if (slug !== undefined) return new Rejected(slug);
  const theirs = statusCode !== undefined && statusCode >= 400 && statusCode < 500;
  return theirs ? new Rejected('invalid_parameters', 'The request could not be read') : error;
}

const tooSlow = new Rejected('invalid_parameters', 'The request did not arrive in time');
const clientErrors: Record<string, Rejected> = {
  HPE_HEADER_OVERFLOW: new Rejected(
    'invalid_parameters',
    `The headers are larger than ${gatewayLimits.headerBytes} bytes`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow,
};

const noRequest = new Rejected('invalid_parameters', 'The request is not valid HTTP');

/**
 * Answers a connection whose bytes are not an HTTP request, and ends it. After a complete request, whose body may have
 * been longer than announced, the response to that one is the last.
 */
function refuseRaw(socket: Duplex, rejection: Rejected, requestId: string): void {
  const due = responseDueOn(socket);
  if (!socket.writable || due?.headersSent) {
    socket.destroy();
    return;
  }
  if (due?.req.complete) {
    due.shouldKeepAlive = false;
    return;
  }
  const { slug, message, issues } = rejection as Rejected & { slug: Slug };
  const { http }: ErrorKind = errors[slug];
  const body = failure({ slug, message, issues }, 0, requestId);
  const head = [
    `HTTP/1.1 ${http} ${http === 404 ? 'Not Found' : 'Bad Request'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    `x-request-id: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
  (socket as Socket).destroySoon();
}
