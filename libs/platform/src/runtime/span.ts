/** Where a span stands in a call, as OpenTelemetry names it. */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal';

export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Step of a trace. `traceparent` (W3C) is what the steps below it are given. */
export interface Span {
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** An error is recorded by its name, or the slug of a rejection: messages may quote what is secret. */
  end(error?: unknown): void;
}

/** Records spans and sends them to a collector; see otlp.ts. */
export interface Tracing {
  /** Undefined where the trace is not recorded. `parent` is a traceparent, or '' for a trace that begins here. */
  start(name: string, kind: SpanKind, parent: string, attributes?: SpanAttributes): Span | undefined;
  /** Sends what is recorded. */
  stop(): Promise<void>;
}
