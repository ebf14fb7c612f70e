import { once } from 'node:events';
import { createServer } from 'node:http';
import { startReplica, unusedPort } from '../../chaos/replica.js';
import { apps } from '../../local/apps.js';
import { type TemporaryStack, temporaryStack } from '../../local/temporary.js';
import { type Costs, costing, costsOf, toldCosts } from '../costs.js';
import { loadInvoices, orderOf } from '../invoices.js';
import { type Load, median } from '../load.js';
import type { Bench, Measure } from '../measure.js';
import { ageServer } from '../yardstick.js';

const rounds = 5;
const replicas = 3;
const unlimited = { RATE_PER_SECOND: '1000000', RATE_BURST: '1000000' };

/** A stack under load, with what it was given beside what every stack has. */
interface Side {
  stack: TemporaryStack;
  urls: readonly string[];
  costs(): Costs;
}

/** invoice/new with every request recorded and sent as OTLP, against the same without tracing. */
export async function tracingCost(bench: Bench): Promise<{ measure: Measure; more: string }> {
  const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const address = collector.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_TRACES_SAMPLER_ARG: '1' };
  const own = apps.map(app => [app, { ...(app === 'gateway' && unlimited), MAIL_FOLDER: '', ...env }] as const);
  const stack = await temporaryStack(bench.tell, Object.fromEntries(own));
  try {
    await ageServer(stack.facts().services.postgres.url);
    return await compared(bench, sideOf(bench.stack), sideOf(stack));
  } finally {
    await stack.close();
    collector.closeAllConnections();
    collector.close();
  }
}

/** invoice/new with three replicas of each app, against one of each; all on this machine. */
export async function replicaGain(bench: Bench): Promise<{ measure: Measure; more: string }> {
  const own = { gateway: unlimited, billing: { MAIL_FOLDER: '' } };
  const stack = await temporaryStack(bench.tell, own);
  const started: { app: string; pid: number; kill(): Promise<unknown> }[] = [];
  const urls = [stack.facts().baseUrl];
  try {
    await ageServer(stack.facts().services.postgres.url);
    for (const app of apps) {
      for (let more = 1; more < replicas; more++) {
        const port = app === 'gateway' ? await unusedPort() : 0;
        const replica = await startReplica(stack.home, app, { ...unlimited, MAIL_FOLDER: '', ...portOf(port) });
        started.push({ app, ...replica });
        if (port > 0) urls.push(`http://127.0.0.1:${port}`);
      }
    }
    const extra = started.map(({ app, pid }) => [app, pid] as const);
    return await compared(bench, sideOf(bench.stack), { stack, urls, costs: () => costsOf(stack, extra) });
  } finally {
    await Promise.all(started.map(replica => replica.kill()));
    await stack.close();
  }
}

const portOf = (port: number) => (port > 0 ? { PORT: String(port) } : {});

const sideOf = (stack: TemporaryStack): Side => ({
  stack,
  urls: [stack.facts().baseUrl],
  costs: () => costsOf(stack),
});

/** Loads both in turn, so that what else the machine does meets both; the first is the limit. */
async function compared(bench: Bench, first: Side, second: Side): Promise<{ measure: Measure; more: string }> {
  const sides = [first, second] as const;
  const bodies = await Promise.all(sides.map(({ stack }) => orderOf(stack)));
  const taken = sides.map(() => [] as Round[]);
  for (const [at, side] of sides.entries()) await roundOf(side, bodies[at] ?? '', bench.seconds.warm);
  for (let round = 0; round < rounds; round++) {
    for (const [at, side] of sides.entries()) {
      taken[at]?.push(await roundOf(side, bodies[at] ?? '', bench.seconds.round));
    }
  }
  const [limit = 0, value = 0] = taken.map(all => median(all.map(({ perSecond }) => perSecond)));
  for (const all of taken) bench.tell(`    µs of a core for an invoice: ${toldCosts(all.map(({ costs }) => costs))}`);
  const more = `p50 ${taken.map(all => `${median(all.map(({ p50 }) => p50)).toFixed(1)} ms`).join(' before, ')} after`;
  return { measure: { value, unit: '1/s', limit, ratio: value / limit }, more };
}

interface Round {
  perSecond: number;
  p50: number;
  /** Microseconds of a core for each request, by part. */
  costs: Costs;
}

async function roundOf({ stack, urls, costs: now }: Side, body: string, seconds: number): Promise<Round> {
  const all = () => Promise.all(urls.map(url => loadInvoices(stack, body, seconds, url, urls.length)));
  const requestsOf = (loads: readonly Load[]) => loads.reduce((sum, { requests }) => sum + requests, 0);
  const { result: loads, costs } = await costing(now, all, requestsOf);
  return {
    perSecond: loads.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p50: median(loads.map(({ p50 }) => p50)),
    costs,
  };
}
