import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createClient, orThrow } from '@recur/client';
import { databases } from '../journeys/oracle.js';
import { newUser } from '../journeys/shop.js';
import type { TemporaryStack } from '../local/temporary.js';
import { quantile } from './load.js';
import { memoryOf } from './machine.js';
import type { Measure } from './measure.js';

const events = 200;
const perSecond = 10;
const healthy = 96;
const limitMs = 1_000;
const megabyte = Buffer.alloc(1 << 20, 'x');

/** Answers all the time, and never ends: until the other side has had enough. */
function pour(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write(megabyte)) setImmediate(() => pour(response));
  else response.once('drain', () => pour(response));
}

let flaps = 0;
/** Misbehaving endpoints, each with a server of its own. */
const troubles: Record<string, RequestListener> = {
  'tar pit': () => undefined,
  drip: (_, response) => {
    const timer = setInterval(() => response.write('.'), 1_000);
    setTimeout(() => response.end(), 13_000);
    response.on('close', () => clearInterval(timer));
  },
  'huge body': (_, response) => pour(response),
  flapping: (_, response) => response.writeHead(flaps++ % 2 ? 200 : 500).end(),
};

/**
 * 20 000 webhooks to 100 endpoints in 20 seconds, of which one never answers, one drips, one answers without end and one
 * fails every other time. The measure is how late the others hear: p99 from the answer of user/new to the arrival. Throws
 * where a webhook was lost, or came twice to an endpoint that answers.
 */
export async function lagBesideTrouble(stack: TemporaryStack): Promise<{ measure: Measure; more: string }> {
  const api = createClient({ baseUrl: stack.facts().baseUrl, credential: (await stack.merchant('Trouble')).apiKey });
  const arrivals = new Map<string, number[]>();
  const well: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const key = `${request.url} ${(JSON.parse(Buffer.concat(chunks).toString()) as { data: { id: number } }).data.id}`;
    arrivals.set(key, [...(arrivals.get(key) ?? []), performance.now()]);
    response.end();
  };
  const servers = await Promise.all([well, ...Object.values(troubles)].map(listen));
  const [good, ...bad] = servers.map(({ url }) => url);
  const urls = [...Array.from({ length: healthy }, (_, at) => `${good}/${at}`), ...bad];
  for (const url of urls) orThrow(await api.post('/merchant/webhook/new_endpoint', { url, events: ['user.created'] }));

  const { ask, close } = databases(stack.facts());
  const pid = Number(stack.facts().pids.notification);
  const memory = [memoryOf([pid])];
  const answered = new Map<number, number>();
  const started = performance.now();
  for (let at = 0; at < events; at++) {
    await new Promise(resolve => setTimeout(resolve, started + (at * 1000) / perSecond - performance.now()));
    answered.set(await newUser(api), performance.now());
    if (at % 50 === 49) memory.push(memoryOf([pid]));
  }
  const deadline = Date.now() + 30_000;
  while (arrivals.size < events * healthy && Date.now() < deadline) await new Promise(r => setTimeout(r, 50));
  const states = await ask(
    'notification',
    `select url, count(*)::integer as count from deliveries join endpoints using (merchant_id, endpoint_id)
     where url = any('{${urls.join(',')}}') and deliveries.state in ('scheduled', 'delivered') group by url`,
  );
  await close();
  for (const { server } of servers) {
    server.close();
    server.closeAllConnections();
  }
  const lags = [...arrivals].flatMap(([key, times]) => {
    if (times.length > 1) throw new Error(`${key} came ${times.length} times`);
    return times.map(time => time - (answered.get(Number(key.split(' ')[1])) ?? Number.NaN));
  });
  if (lags.length !== events * healthy) throw new Error(`${lags.length} of ${events * healthy} webhooks came in time`);
  if (states.length !== urls.length || states.some(({ count }) => count !== events))
    throw new Error('webhooks are lost');
  lags.sort((a, b) => a - b);
  const value = quantile(lags, 0.99);
  const measure = { value, unit: 'ms', limit: limitMs, ratio: limitMs / Math.max(value, 0.1) };
  return { measure, more: `notification's memory ${memory.map(mib => mib.toFixed(0)).join(' → ')} MiB` };
}

async function listen(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return { server, url: `http://127.0.0.1:${address.port}` };
}
