import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { apps } from '../../local/apps.js';
import { checkoutRoot } from '../../local/home.js';
import { type CollectedSpan, startCollector } from '../collector.js';
import { typeOf } from '../receiver.js';
import { selectedBy, seriesIn } from '../series.js';
import { order } from '../shop.js';
import { pause, type Stand, startStand } from './stand.js';

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
  const { status, text } = await shop.wire.request('/merchant/invoice/new', {
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

/** Labels that Prometheus adds to every series. */
const added = ['job', 'instance', 'pod'];

/** Every expression of the alerts, the dashboard and the triggers of the autoscaling. */
function expressions(): string[] {
  const text = (file: string) => readFileSync(path.join(checkoutRoot(), 'deploy/helm', file), 'utf8');
  const alerts: string[] = parse(text('recur/alerts.yaml')).groups.flatMap(({ rules }: { rules: { expr: string }[] }) =>
    rules.map(({ expr }) => expr),
  );
  const { panels, templating } = JSON.parse(text('recur/dashboard.json'));
  const shown: string[] = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  );
  const listed: string[] = templating.list.flatMap(({ query }: { query: string | { query: string } }) =>
    typeof query === 'string' ? [] : [query.query],
  );
  const scaled = parseAllDocuments(text('rendered/production.yaml'))
    .map(document => document.toJS())
    .filter(manifest => manifest?.kind === 'ScaledObject')
    .flatMap(({ spec }) =>
      spec.triggers.flatMap(({ metadata }: { metadata: { query?: string } }) => metadata.query ?? []),
    );
  return [...alerts, ...shown, ...listed, ...scaled];
}

/** Series and labels that the expressions name and that are not in the texts of /metrics. */
function missing(wanted: readonly string[], texts: readonly string[]): string[] {
  const emitted = new Map<string, Set<string>>([['up', new Set()]]);
  for (const text of texts) {
    for (const [name, labels] of seriesIn(text)) {
      emitted.set(name, new Set([...(emitted.get(name) ?? []), ...labels]));
    }
  }
  return wanted.flatMap(expression => {
    const { metrics, labels } = selectedBy(expression);
    const known = new Set([...added, ...metrics.flatMap(metric => [...(emitted.get(metric) ?? [])])]);
    return [
      ...metrics.filter(metric => !emitted.has(metric)).map(metric => `no app emits ${metric}: ${expression}`),
      ...labels.filter(label => !known.has(label)).map(label => `no series has ${label}: ${expression}`),
    ];
  });
}

it('every series that an alert, the dashboard or a trigger names is emitted', async () => {
  const { services } = stand.stack.facts();
  const read = async (url: string) => (await fetch(`${url}/metrics`)).text();
  const readAll = () => Promise.all(apps.map(app => read(services[app].opsUrl)));
  const all = expressions();
  expect(all.length).toBeGreaterThan(30);
  let texts = await readAll();
  // what waits is measured every 10 seconds, the first time before there are consumers
  for (const deadline = Date.now() + 120_000; missing(all, texts).length > 0 && Date.now() < deadline; ) {
    await pause();
    texts = await readAll();
  }
  expect(missing(all, texts)).toEqual([]);
  const planted = ['rate(recur_http_request_total[5m])', 'sum by (customer) (recur_events_pending)'];
  expect(missing(planted, texts)).toHaveLength(2);
});
