import { type Client, createClient, orThrow, type WebhookEvent } from '@recur/client';
import pg from 'pg';
import type { TemporaryStack } from '../local/temporary.js';
import type { startSink } from './sink.js';

type Sink = Awaited<ReturnType<typeof startSink>>;

/** Body as long as that of an invoice with three lines. */
export const webhookBody = JSON.stringify({ type: 'invoice.created', data: 'x'.repeat(2_600) });

/** Inserts `$5` events of each merchant that has endpoints at `$1`, and for each a delivery to all of its endpoints, due now. */
const insertBacklog = `with e as (
    insert into events (merchant_id, event_id, type, at, body)
    select m, event_id_at($4) || $2 || 'x' || m || 'x' || n, 'invoice.created', 0, $3
    from (select distinct merchant_id as m from endpoints where url like $1) m, generate_series(1, $5) n
    returning merchant_id, event_id),
  d as (
    insert into deliveries (merchant_id, delivery_id, endpoint_id, event_id, state, attempts, next_at_ms, create_time,
      last_outcome, last_answer)
    select merchant_id, 'dl_' || substr(event_id, 4) || 'x' || endpoint_id, endpoint_id, event_id, 'scheduled', 0, 1, 0, '', ''
    from e join (select merchant_id, endpoint_id from endpoints where url like $1) p using (merchant_id)
    returning merchant_id, delivery_id, endpoint_id, event_id)
  insert into due (delivery_id, merchant_id, endpoint_id, event_id, due_at_ms)
  select delivery_id, merchant_id, endpoint_id, event_id, 1 from d`;

/** The database of notification, as the server's superuser, whom row-level security does not bind. */
export async function notificationDatabase(stack: TemporaryStack): Promise<pg.Client> {
  const url = new URL(stack.facts().services.postgres.url);
  url.pathname = '/recur_notification';
  const database = new pg.Client({ connectionString: url.toString() });
  await database.connect();
  return database;
}

/** Creates merchants, each with some endpoints at the sink. */
export async function subscribe(
  stack: TemporaryStack,
  sinkUrl: string,
  merchants: number,
  endpointsEach: number,
  events: WebhookEvent['type'][] = [],
): Promise<Client[]> {
  const apis: Client[] = [];
  for (let merchant = 0; merchant < merchants; merchant++) {
    const api = createClient({
      baseUrl: stack.facts().baseUrl,
      credential: (await stack.merchant(`Webhooks ${merchant}`)).apiKey,
    });
    for (let endpoint = 0; endpoint < endpointsEach; endpoint++) {
      orThrow(await api.post('/merchant/webhook/new_endpoint', { url: `${sinkUrl}/${merchant}/${endpoint}`, events }));
    }
    apis.push(api);
  }
  return apis;
}

/** Adds a backlog while notification is stopped; `name` makes the ids unique. */
export async function addBacklog(
  database: pg.Client,
  sinkUrl: string,
  { name, eventsEach }: { name: string; eventsEach: number },
): Promise<void> {
  await database.query(insertBacklog, [`${sinkUrl}%`, name, webhookBody, Date.now(), eventsEach]);
}

/** Waits until `total` webhooks have arrived and are recorded; returns the rate per second from the first arrival on. */
export async function drainRate(database: pg.Client, sink: Sink, total: number, withinMs: number): Promise<number> {
  const recorded = async () => (await database.query('select from due limit 1')).rows.length === 0;
  const deadline = Date.now() + withinMs;
  let [first, since] = [0, Number.NaN];
  for (;;) {
    const count = await sink.count();
    const now = performance.now();
    if (first === 0 && count > 0) [first, since] = [count, now];
    if (count >= total && (await recorded())) return ((total - first) / (performance.now() - since)) * 1000;
    if (Date.now() > deadline)
      throw new Error(`${total - count} of ${total} webhooks did not arrive in ${withinMs} ms`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
