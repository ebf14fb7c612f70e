import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import { isTracing, startSpan, startTracing, stopTracing, traced } from '../src/runtime/tracing.js';

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7';
const bodies: string[] = [];
let server: Server;
let endpoint: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    bodies.push(Buffer.concat(chunks).toString());
    response.end('{}');
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterAll(() => void server.close());

it('is off without a collector: nothing is started, and the parent is handed on as it is', async () => {
  await startTracing('sample', { OTEL_TRACES_SAMPLER_ARG: 1 });
  expect(isTracing()).toBe(false);
  expect(startSpan('one', 'server', `${parent}-01`)).toBeUndefined();
  expect(await traced('one', 'server', `${parent}-01`, async traceparent => traceparent)).toBe(`${parent}-01`);
});

it('continues the trace of its parent, and records an error by its name and a rejection by its slug', async () => {
  await startTracing('sample', { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: 0 });
  const inner = await traced('fine', 'server', `${parent}-01`, async traceparent => traceparent);
  expect(inner).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/);
  const fail = (error: Error) => traced('bad', 'internal', `${parent}-01`, () => Promise.reject(error));
  await expect(fail(new TypeError('the secret is 42'))).rejects.toThrow('the secret is 42');
  await expect(fail(new Rejected('invoice_not_found'))).rejects.toBeInstanceOf(Rejected);
  // neither one that its client does not record, nor one that begins here, of which the share is 0
  expect(startSpan('unsampled', 'server', `${parent}-00`)).toBeUndefined();
  const begun = startSpan('begun', 'server', '');
  expect(begun?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  begun?.end();
  await stopTracing();
  const sent = bodies.splice(0).join('\n');
  const { resourceSpans } = JSON.parse(sent);
  const spans: { name: string; parentSpanId: string }[] = resourceSpans[0].scopeSpans[0].spans;
  expect(spans.map(({ name }) => name)).toEqual(['fine', 'bad', 'bad']);
  expect(new Set(spans.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set(['00f067aa0ba902b7']));
  expect(sent).toContain('TypeError');
  expect(sent).toContain('invoice_not_found');
  expect(sent).not.toContain('the secret is');
  expect(isTracing()).toBe(false);
});

it('records the share of the traces that begin here', async () => {
  await startTracing('sample', { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: 0.5 });
  const begun = Array.from({ length: 400 }, () => startSpan('begun', 'server', ''));
  const recorded = begun.filter(span => span?.traceparent.endsWith('-01'));
  expect(recorded.length).toBeGreaterThan(140);
  expect(recorded.length).toBeLessThan(260);
  await stopTracing();
});

it('ends although the collector is away', async () => {
  await startTracing('sample', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER_ARG: 1 });
  startSpan('lost', 'server', '')?.end();
  await stopTracing();
  expect(isTracing()).toBe(false);
});
