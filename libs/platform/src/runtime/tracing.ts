import type { Caller } from './caller.js';
import type { SpanAttributes, SpanKind, Tracing } from './span.js';

let tracing: Tracing | undefined;

/**
 * Turns tracing on where OTEL_EXPORTER_OTLP_ENDPOINT is set. Without it the SDK is not even loaded, and each hook below
 * costs a comparison.
 */
export async function startTracing(
  app: string,
  settings: { OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined; OTEL_TRACES_SAMPLER_ARG: number },
): Promise<void> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: share } = settings;
  if (endpoint === undefined) return;
  const { otlpTracing } = await import('./otlp.js');
  tracing = otlpTracing(app, endpoint, share);
}

/** Sends what is recorded and turns tracing off. A collector that is away loses spans, and delays nothing for long. */
export async function stopTracing(): Promise<void> {
  const stopped = tracing;
  tracing = undefined;
  await stopped?.stop().catch(() => undefined);
}

export const isTracing = () => tracing !== undefined;

/** Starts a span; undefined where the trace is not recorded. */
export const startSpan: Tracing['start'] = (name, kind, parent, attributes) =>
  tracing?.start(name, kind, parent, attributes);

/** Runs within a span, and hands on its traceparent; where the trace is not recorded, `parent` itself. */
export async function traced<T>(
  name: string,
  kind: SpanKind,
  parent: string,
  run: (traceparent: string) => Promise<T>,
  attributes?: SpanAttributes,
): Promise<T> {
  const span = tracing?.start(name, kind, parent, attributes);
  if (span === undefined) return run(parent);
  try {
    const result = await run(span.traceparent);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Runs a caller's work within a span, below which what it asks and what its events cause are found. */
export const within = <T>(name: string, kind: SpanKind, caller: Caller, run: (caller: Caller) => Promise<T>) =>
  traced(name, kind, caller.traceparent, traceparent =>
    run(traceparent === caller.traceparent ? caller : { ...caller, traceparent }),
  );

/** The trace id of a traceparent, for logs; undefined where there is none. */
export const traceIdOf = (traceparent: string): string | undefined => traceparent.split('-')[1];
