import {
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind as SpanKinds,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { Rejected } from '@recur/kernel';
import type { SpanKind, Tracing } from './span.js';

/** Spans that wait for the collector are bounded: more are dropped. */
const limits = { queued: 8_192, batch: 512, everyMs: 1_000, timeoutMs: 3_000 } as const;

const kinds: Record<SpanKind, SpanKinds> = {
  internal: SpanKinds.INTERNAL,
  server: SpanKinds.SERVER,
  client: SpanKinds.CLIENT,
  producer: SpanKinds.PRODUCER,
  consumer: SpanKinds.CONSUMER,
};

/** Tracing by OTLP over HTTP. `share` of the traces that begin here are recorded; others as their beginning was. */
export function otlpTracing(app: string, endpoint: string, share: number): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: limits.timeoutMs });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': `recur-${app}`, 'service.namespace': 'recur' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [
      new BatchSpanProcessor(exporter, {
        maxQueueSize: limits.queued,
        maxExportBatchSize: limits.batch,
        scheduledDelayMillis: limits.everyMs,
        exportTimeoutMillis: limits.timeoutMs,
      }),
    ],
  });
  const tracer = provider.getTracer('recur');
  return {
    start(name, kind, parent, attributes = {}) {
      const above = contextOf(parent);
      if (above === undefined) return undefined;
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, above);
      return {
        traceparent: traceparentOf(span.spanContext()),
        set: more => void span.setAttributes(more),
        end(error) {
          if (error instanceof Rejected) span.setAttribute('recur.rejection', error.slug);
          else if (error !== undefined) {
            span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    stop: () => provider.shutdown(),
  };
}

const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext) =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

/** The context of a traceparent; the root where there is none, undefined where its trace is not recorded. */
function contextOf(traceparent: string): Context | undefined {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  if (traceId === '') return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16);
  if ((traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
