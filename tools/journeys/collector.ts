import { once } from 'node:events';
import { createServer } from 'node:http';

/** A span as it was sent by OTLP, with the app that sent it. */
export interface CollectedSpan {
  app: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  attributes: Record<string, string | number>;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}
interface Sent {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: { traceId: string; spanId: string; parentSpanId?: string; name: string; attributes: Attribute[] }[];
    }[];
  }[];
}

const valuesIn = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? 0)]));

/** An OpenTelemetry collector on this machine: keeps the spans that the apps send it as OTLP over HTTP. */
export async function startCollector() {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  let arrived: () => void = () => undefined;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    bodies.push(text);
    for (const { resource, scopeSpans } of (JSON.parse(text) as Sent).resourceSpans) {
      const app = String(valuesIn(resource.attributes)['service.name']);
      for (const { traceId, spanId, parentSpanId = '', name, attributes } of scopeSpans.flatMap(scope => scope.spans)) {
        spans.push({ app, traceId, spanId, parentSpanId, name, attributes: valuesIn(attributes) });
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    arrived();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the collector has no port');
  const of = (traceId: string) => spans.filter(span => span.traceId === traceId);
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    spans,
    /** Everything that was sent. */
    bodies,
    of,
    /** The spans of a trace, once they are as wanted; what there is of it after 30 seconds. */
    async until(traceId: string, wanted: (spans: readonly CollectedSpan[]) => boolean): Promise<CollectedSpan[]> {
      const deadline = AbortSignal.timeout(30_000);
      while (!wanted(of(traceId)) && !deadline.aborted) {
        await new Promise<void>(resolve => {
          arrived = resolve;
          deadline.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      return of(traceId);
    },
    async close(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
