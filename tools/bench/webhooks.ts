import { createHmac, randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import type { TemporaryStack } from '../local/temporary.js';
import { median } from './load.js';
import type { Measure } from './measure.js';
import { startSink } from './sink.js';
import { addBacklog, drainRate, notificationDatabase, subscribe, webhookBody } from './webhook-backlog.js';

const rounds = 3;
const seconds = 5;
const merchants = 4;
const endpointsEach = 25;
const eventsEach = 600;
const total = merchants * endpointsEach * eventsEach;
const inFlight = 50;
const withinMs = 120_000;

/**
 * Webhooks per second of a backlog to 100 healthy endpoints, signed, delivered and recorded; the limit is a bare loop that
 * signs and posts the same body to the same sink. Medians of alternating rounds.
 */
export async function deliveryRate(stack: TemporaryStack): Promise<Measure> {
  const sink = await startSink();
  const database = await notificationDatabase(stack);
  try {
    await subscribe(stack, sink.url, merchants, endpointsEach);
    const [values, limits]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      limits.push(await bareLoop(sink.url));
      await sink.heard();
      await stack.stop('notification');
      await addBacklog(database, sink.url, { name: String(round), eventsEach });
      await stack.start('notification');
      values.push(await drainRate(database, sink, total, withinMs));
      const { requests, different } = await sink.heard();
      if (different !== total || requests !== total) {
        throw new Error(`of ${total} webhooks ${different} came, ${requests} times`);
      }
    }
    const [value, limit] = [median(values), median(limits)];
    return { value, unit: '1/s', limit, ratio: value / limit };
  } finally {
    await database.end();
    sink.close();
  }
}

/** POSTs per second of a loop that only signs and sends. */
export async function bareLoop(url: string): Promise<number> {
  const pool = new Pool(url, { connections: inFlight, pipelining: 1 });
  const secret = randomBytes(32);
  const end = performance.now() + seconds * 1000;
  const started = performance.now();
  let sent = 0;
  const loop = async () => {
    while (performance.now() < end) {
      const [id, timestamp] = [`ev_bare${sent++}`, String(Math.floor(Date.now() / 1000))];
      const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(webhookBody).digest('base64');
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      };
      const response = await pool.request({ method: 'POST', path: '/bare', headers, body: webhookBody });
      await response.body.text();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  const perSecond = (sent / (performance.now() - started)) * 1000;
  await pool.close();
  return perSecond;
}
