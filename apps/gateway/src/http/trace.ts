import { pooledRandom, type Span, startSpan } from '@recur/platform';
import type { FastifyRequest } from 'fastify';

const shape = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const randomHex = (bytes: number) => pooledRandom(bytes).toString('hex');

/**
 * The trace context of a request (https://www.w3.org/TR/trace-context/#traceparent-header): the trace that its client
 * is in continues with a span of ours; without a valid one, a trace starts here.
 */
export function traceparentOf(incoming: string | undefined): string {
  const [, trace, , flags] = partsOf(incoming);
  return trace === undefined ? `00-${randomHex(16)}-${randomHex(8)}-01` : `00-${trace}-${randomHex(8)}-${flags}`;
}

/** Starts the span of a request below that of its client; null where the trace is not recorded. */
export function requestSpan({ method, headers, id, routeOptions }: FastifyRequest): Span | null {
  const route = routeOptions.url ?? 'none';
  const attributes = { 'http.request.method': method, 'http.route': route, 'recur.request_id': id };
  const incoming = headers.traceparent as string | undefined;
  const parent = partsOf(incoming).length > 0 ? incoming : undefined;
  return startSpan(`${method} ${route}`, 'server', parent ?? '', attributes) ?? null;
}

/** Version, trace id, span id and flags of a valid header; nothing of any other. */
function partsOf(incoming: string | undefined): readonly string[] {
  const [, version, trace = '', span = '', flags = '', more] = (incoming !== undefined && shape.exec(incoming)) || [];
  const valid = version !== undefined && version !== 'ff' && !(version === '00' && more !== undefined);
  return valid ? [version, trace, span, flags] : [];
}
