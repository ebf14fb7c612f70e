import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { apps } from '../../local/apps.js';
import { type CollectedSpan, startCollector } from '../collector.js';
import { typeOf } from '../receiver.js';
import { order } from '../shop.js';
import { type Stand, startStand } from './stand.js';

jest.setTimeout(120_000);

let collector: Awaited<ReturnType<typeof startCollector>>;
let stand: Stand;
let shop: Awaited<ReturnType<Stand['shop']>>;

beforeAll(async () => {
  collector = await startCollector();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, LOG_LEVEL: 'debug' };
  stand = await startStand(Object.fromEntries(apps.map(app => [app, settings])));
  shop = await stand.shop('Traces');
});
afterAll(async () => {
  await stand?.close();
  await collector?.close();
});

/** Makes an invoice as a client whose trace this is; resolves once its webhook has arrived. */
async function invoiceIn(traceparent: string): Promise<string> {
  const before = shop.receiver.deliveries.length;
  const { status, text } = await shop.api.request('/merchant/invoice/new', {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent },
    body: JSON.stringify(order(shop.userId, shop.planId)),
  });
  expect(status).toBe(200);
  await shop.receiver.until(all => all.slice(before).some(one => typeOf(one) === 'invoice.created'));
  return text;
}

/** The names of a span and of all above it, from the first on. */
function pathOf(span: CollectedSpan | undefined, all: readonly CollectedSpan[]): string[] {
  if (span === undefined) return [];
  return [
    ...pathOf(
      all.find(({ spanId }) => spanId === span.parentSpanId),
      all,
    ),
    `${span.app}: ${span.name}`,
  ];
}

it('one request is one trace, from HTTP over NATS, the database and JetStream to the webhook', async () => {
  const [traceId, client] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
  await invoiceIn(`00-${traceId}-${client}-01`);
  const names = (all: readonly CollectedSpan[]) => all.map(({ app, name }) => `${app}: ${name}`);
  const wanted = [
    'recur-gateway: POST /merchant/invoice/new',
    'recur-gateway: send cmd.billing.invoice.new',
    'recur-billing: billing.invoice.new',
    'recur-billing: write',
    'recur-billing: commit',
    'recur-billing: publish evt.billing.invoice.created',
    'recur-notification: process invoice.created',
    'recur-notification: deliver invoice.created',
    'recur-identity: process operation.logged',
  ];
  const spans = await collector.until(traceId, all => wanted.every(name => names(all).includes(name)));
  expect(names(spans)).toEqual(expect.arrayContaining(wanted));
  const command = wanted.slice(0, 4);
  const named = (name: string) => spans.find(span => `${span.app}: ${span.name}` === name);
  const reaches = (name: string) => pathOf(named(name), spans);
  expect(named(wanted[0] ?? '')?.parentSpanId).toBe(client);
  expect(reaches('recur-billing: commit')).toEqual([...command, 'recur-billing: commit']);
  expect(reaches('recur-billing: publish evt.billing.invoice.created').slice(0, -1)).toEqual(command);
  expect(reaches('recur-notification: process invoice.created').slice(0, -1)).toEqual(command);
  expect(reaches('recur-notification: deliver invoice.created')[0]).toBe(wanted[0]);
  expect(named('recur-notification: deliver invoice.created')?.attributes['recur.outcome']).toBe('success');
  expect(spans.filter(span => span.attributes['db.system.name'] === 'postgresql').length).toBeGreaterThan(1);
});

it('a trace that its client does not record is not recorded; its id is in the logs all the same', async () => {
  const [silent, heard] = ['5bf92f3577b34da6a3ce929d0e0e4736', '6bf92f3577b34da6a3ce929d0e0e4736'];
  await invoiceIn(`00-${silent}-00f067aa0ba902b7-00`);
  await invoiceIn(`00-${heard}-00f067aa0ba902b7-01`);
  const sent = (all: readonly CollectedSpan[]) => all.some(({ name }) => name.startsWith('deliver'));
  expect(sent(await collector.until(heard, sent))).toBe(true);
  expect(collector.of(silent)).toEqual([]);
  for (const app of ['gateway', 'billing']) {
    const lines = readFileSync(path.join(stand.stack.home.logs, `${app}.log`), 'utf8').split('\n');
    const entry = lines.find(line => line.includes(silent) && line.includes('invoice.new'));
    expect(JSON.parse(entry ?? '{}')).toMatchObject({
      traceId: silent,
      command: expect.stringContaining('invoice.new'),
    });
  }
});

it('spans tell nothing of what was asked: no credential, no value of a statement', () => {
  const sent = collector.bodies.join('\n');
  expect(sent).toContain('insert into');
  expect(sent).not.toContain(shop.apiKey);
  expect(sent).not.toContain('Welcome credit');
  expect(sent).not.toContain('@example.com');
});
