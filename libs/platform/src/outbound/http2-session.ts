import { validateHeaderName, validateHeaderValue } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Exchange, HttpRequest } from './exchange.js';
import { networkCode, Unreachable } from './failure.js';

const { NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM, NGHTTP2_HTTP_1_1_REQUIRED } = constants;

const limits = {
  /** Once the server has heard of it; until then, nghttp2 takes 65 536. */
  answerHeaderBytes: 16_384,
  /** Frames that name origins of the server (RFC 8336); Node keeps their contents. */
  originFrames: 4,
} as const;

/** Error codes of RFC 9113 §7, by their numbers. */
const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];
const nonsense = ['PROTOCOL_ERROR', 'FLOW_CONTROL_ERROR', 'FRAME_SIZE_ERROR', 'COMPRESSION_ERROR', 'ENHANCE_YOUR_CALM'];

/** `taken`: the exchange is over. Otherwise the server has not begun with the request, or wants it over HTTP/1.1. */
type Fate = 'taken' | 'refused' | 'http1';

/**
 * An HTTP/2 connection, shared by all requests to an origin, as many at once as the server lets; others wait within their
 * deadlines. It is not undici's: that fails every request under way when a server says GOAWAY, sends one POST at a time,
 * and keeps idle sessions. After a timeout no new request is sent on it, since the connection may be dead.
 */
export class Http2Session {
  private readonly session: ClientHttp2Session;
  private open = 0;
  private retired = false;
  private idle: NodeJS.Timeout | undefined;

  constructor(
    origin: string,
    socket: TLSSocket,
    private readonly times: { keptMs: number; deadlineMs: number },
    closed: () => void,
  ) {
    this.session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, maxHeaderListSize: limits.answerHeaderBytes },
    });
    // every request under way has the error too
    this.session.on('error', () => undefined);
    this.session.on('close', closed);
    let originFrames = 0;
    this.session.on('origin', () => {
      if (++originFrames > limits.originFrames) this.session.destroy();
    });
    this.rest();
  }

  /** False once the server has said GOAWAY, the connection is closed, or a request on it has timed out. */
  get usable(): boolean {
    return !this.retired && !this.session.closed && !this.session.destroyed;
  }

  /** Sends a request; rejects with what went wrong, if the exchange is not over by then. Throws only on a bug. */
  request({ method, path, headers, body }: HttpRequest, exchange: Exchange): Promise<Fate> {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      // an invalid header would end the whole session
      for (const [name, value] of Object.entries(headers)) {
        validateHeaderName(name);
        validateHeaderValue(name, value);
      }
      const stream = this.session.request(
        { ...headers, ...length, ':method': method, ':path': path },
        { endStream: body === undefined },
      );
      clearTimeout(this.idle);
      this.open++;
      let failure: Error | undefined;
      stream.on('error', error => {
        failure = error;
      });
      const answered = this.pass(stream, exchange);
      stream.on('close', () => {
        this.ended();
        if (exchange.over) resolve('taken');
        else if (!answered() && stream.rstCode === NGHTTP2_REFUSED_STREAM) resolve('refused');
        else if (!answered() && stream.rstCode === NGHTTP2_HTTP_1_1_REQUIRED) resolve('http1');
        else reject(streamFailure(stream.rstCode, failure));
      });
      if (body !== undefined) stream.end(body);
    });
  }

  destroy(): void {
    clearTimeout(this.idle);
    this.session.destroy();
  }

  /** Hands what the server sends to an exchange. Returns a function that is true once an answer has begun. */
  private pass(stream: ClientHttp2Stream, exchange: Exchange): () => boolean {
    let answered = false;
    const controller = {
      abort: (reason: Error) => {
        if (reason instanceof Unreachable) this.retire();
        stream.close(NGHTTP2_CANCEL);
      },
    };
    exchange.onRequestStart(controller);
    stream.on('response', headers => {
      answered = true;
      exchange.onResponseStart(controller, Number(headers[':status']), headers);
    });
    stream.on('data', (chunk: Buffer) => {
      if (!exchange.over) exchange.onResponseData(controller, chunk);
    });
    stream.on('end', () => {
      // the end of a stream that was reset is no end of an answer
      if (answered && !exchange.over && stream.rstCode === NGHTTP2_NO_ERROR) exchange.onResponseEnd();
      // the server has answered without reading all of the request
      if (!stream.writableFinished) stream.close(NGHTTP2_CANCEL);
    });
    return () => answered;
  }

  private ended(): void {
    this.open--;
    if (this.open > 0) return;
    if (this.retired) this.session.destroy();
    else this.rest();
  }

  private rest(): void {
    this.idle = setTimeout(() => this.session.destroy(), this.times.keptMs).unref();
  }

  /** Requests under way may still be answered within their deadlines. */
  private retire(): void {
    if (this.retired) return;
    this.retired = true;
    setTimeout(() => this.session.destroy(), this.times.deadlineMs).unref();
  }
}

function streamFailure(rstCode: number, failure: Error | undefined): Unreachable {
  const code = networkCode(failure);
  // an error of the whole connection, such as ECONNRESET
  if (code !== undefined && code !== 'ERR_HTTP2_STREAM_ERROR') {
    return new Unreachable(/^ERR_HTTP2_(ERROR|SESSION_ERROR)$/.test(code) ? 'protocol' : 'reset', code);
  }
  const name = errorNames[rstCode] ?? 'failed';
  return new Unreachable(nonsense.includes(name) ? 'protocol' : 'reset', name);
}
