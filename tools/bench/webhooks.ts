import { createHmac, randomBytes } from 'node:crypto';
import pg from 'pg';
import { Pool } from 'undici';
import { Api } from '../journeys/api.js';
import type { TemporaryStack } from '../local/temporary.js';
import { settled } from './fill.js';
import { median } from './load.js';
import type { Measure } from './measure.js';
import { startSink } from './sink.js';

const rounds = 3;
const seconds = 5;
const merchants = 4;
const endpointsEach = 25;
const eventsEach = 600;
const inFlight = 50;
const withinMs = 120_000;

/** As long as the body of an invoice with three lines. */
const body = JSON.stringify({ type: 'invoice.created', data: 'x'.repeat(2_600) });

/** Of each merchant so many events, and each to all of its endpoints, due now. */
const backlog = `with e as (
    insert into events (merchant_id, event_id, type, at, body)
    select m, event_id_at($4) || $2 || 'x' || m || 'x' || n, 'invoice.created', 0, $3
    from (select distinct merchant_id as m from endpoints where url like $1) m, generate_series(1, ${eventsEach}) n
    returning merchant_id, event_id),
  d as (
    insert into deliveries (merchant_id, delivery_id, endpoint_id, event_id, state, attempts, next_at_ms, create_time,
      last_outcome, last_answer)
    select merchant_id, 'dl_' || substr(event_id, 4) || 'x' || endpoint_id, endpoint_id, event_id, 'scheduled', 0, 1, 0, '', ''
    from e join (select merchant_id, endpoint_id from endpoints where url like $1) p using (merchant_id)
    returning merchant_id, delivery_id, endpoint_id)
  insert into due (delivery_id, merchant_id, endpoint_id, due_at_ms) select delivery_id, merchant_id, endpoint_id, 1 from d`;

/**
 * Deliveries per second of a backlog to 100 healthy endpoints, signed, and recorded durably; the limit is a bare loop
 * that posts the same body, signed, to the same sink. Medians of rounds that alternate.
 */
export async function deliveryRate(stack: TemporaryStack): Promise<Measure> {
  const sink = await startSink();
  const url = new URL(stack.facts().services.postgres.url);
  url.pathname = '/recur_notification';
  const database = new pg.Client({ connectionString: url.toString() });
  await database.connect();
  try {
    for (let at = 0; at < merchants; at++) {
      const api = new Api(stack.facts().baseUrl, (await stack.merchant(`Webhooks ${at}`)).apiKey);
      for (let endpoint = 0; endpoint < endpointsEach; endpoint++) {
        await api.post('/merchant/webhook/new_endpoint', { url: `${sink.url}/${at}/${endpoint}` });
      }
    }
    const [values, limits]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      limits.push(await bareLoop(sink.url));
      await sink.heard();
      await stack.stop('notification');
      await database.query(backlog, [`${sink.url}%`, String(round), body, Date.now()]);
      await settled(database);
      await stack.start('notification');
      values.push(await drained(database));
      const { requests, different } = await sink.heard();
      const due = merchants * endpointsEach * eventsEach;
      if (different !== due || requests !== due)
        throw new Error(`of ${due} webhooks ${different} came, ${requests} times`);
    }
    // what it wrote is on the disk: what is measured next does not wait for that
    await database.query('checkpoint');
    const [value, limit] = [median(values), median(limits)];
    return { value, unit: '1/s', limit, ratio: value / limit };
  } finally {
    await database.end();
    sink.close();
  }
}

/** Deliveries recorded per second, from when the first ones are until all are. */
async function drained(database: pg.Client): Promise<number> {
  const left = async () => Number((await database.query('select count(*) as left from due')).rows[0]?.left);
  const deadline = Date.now() + withinMs;
  let [first, since] = [Number.NaN, Number.NaN];
  const all = merchants * endpointsEach * eventsEach;
  for (;;) {
    const count = await left();
    const now = performance.now();
    if (Number.isNaN(since) && count < all) [first, since] = [count, now];
    if (count === 0) return (first / (now - since)) * 1000;
    if (Date.now() > deadline) throw new Error(`${count} webhooks are not delivered after ${withinMs} ms`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** POSTs per second of a loop that only signs and sends. */
async function bareLoop(url: string): Promise<number> {
  const pool = new Pool(url, { connections: inFlight, pipelining: 1 });
  const secret = randomBytes(32);
  const end = performance.now() + seconds * 1000;
  const started = performance.now();
  let sent = 0;
  const loop = async () => {
    while (performance.now() < end) {
      const [id, timestamp] = [`ev_bare${sent++}`, String(Math.floor(Date.now() / 1000))];
      const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      };
      const response = await pool.request({ method: 'POST', path: '/bare', headers, body });
      await response.body.text();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  const perSecond = (sent / (performance.now() - started)) * 1000;
  await pool.close();
  return perSecond;
}
