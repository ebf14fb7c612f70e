import { randomUUID } from 'node:crypto';
import { createClient, orThrow } from '@recur/client';
import pg from 'pg';
import { usageYardstick } from './copy.js';
import { load } from './load.js';
import type { Bench } from './measure.js';
import { echoLimit } from './reads.js';
import { takeRate } from './rounds.js';
import { type Metric, openUsageShop, type UsageShop } from './usage-shop.js';

const batch = 1_000;
const connections = { batch: 4, single: 32 } as const;
const checks = 400;
const [few, many] = [1_000, 10_000_000];

/** Usage events a thousand at a time and one at a time, and a limit's check at 1 000 and 10 000 000 events. */
export async function usageMeasures(bench: Bench): Promise<void> {
  if (!bench.wants('usage_batch', 'usage_single', 'limit_check')) return;
  bench.tell('  · subscribing users to a plan with usage …');
  const shop = await openUsageShop(bench.stack);
  if (bench.wants('usage_batch')) await batches(bench, shop);
  if (bench.wants('usage_single')) await singles(bench, shop);
  if (bench.wants('limit_check')) await limitChecks(bench, shop);
}

/** Events of metric/event/batch, a thousand each; the limit is COPY of the same rows. */
async function batches(bench: Bench, { charged, userIds }: UsageShop): Promise<void> {
  const { merchantId, services } = bench.stack.facts();
  const series = randomUUID();
  const at = Math.floor(Date.now() / 1000);
  const userOf = (n: number) => userIds[n % userIds.length];
  const rows = (index: number) =>
    Array.from({ length: batch }, (_, n) =>
      [merchantId, userOf(n), charged.id, `${series}-${index}-${n}`, 1 + (n % 7), at].join('\t'),
    ).join('\n');
  const yardstick = await usageYardstick(services.postgres.url, index => `${rows(index)}\n`);
  const bodyOf = (index: number) => {
    const events = Array.from({ length: batch }, (_, n) => ({
      userId: userOf(n),
      metricCode: charged.code,
      externalEventId: `${series}-${index}-${n}`,
      aggregationValue: 1 + (n % 7),
    }));
    return JSON.stringify({ events });
  };
  let sent = 0;
  try {
    await takeRate(bench, 'usage_batch', {
      load: seconds => run(bench, '/merchant/metric/event/batch', () => bodyOf(sent++), connections.batch, seconds),
      limit: yardstick.perSecond,
      items: batch,
    });
  } finally {
    await yardstick.close();
  }
}

/** metric/event/new at 32 connections; the limit is the echo. */
async function singles(bench: Bench, { charged, userIds }: UsageShop): Promise<void> {
  const series = randomUUID();
  let sent = 0;
  const bodyOf = () => {
    const n = sent++;
    const userId = userIds[n % userIds.length];
    return JSON.stringify({ userId, metricCode: charged.code, externalEventId: `${series}-${n}`, aggregationValue: 1 });
  };
  await takeRate(bench, 'usage_single', {
    load: seconds => run(bench, '/merchant/metric/event/new', bodyOf, connections.single, seconds),
    limit: () => echoLimit(bench),
  });
}

/** Milliseconds of an event that a limit admits, and of current_value: the slower median, at few and at many events. */
async function limitChecks(bench: Bench, { limited, userIds }: UsageShop): Promise<void> {
  const [userId = 0] = userIds;
  const fill = await filler(bench, limited, userId);
  try {
    const times: number[] = [];
    for (const count of [few, many]) {
      bench.tell(`  · filling up to ${count} events of one metric and user …`);
      await fill.upTo(count);
      times.push(await slower(bench, limited, userId));
    }
    const [limit = 0, value = 0] = times;
    bench.add(
      'limit_check',
      { value, unit: 'ms', limit, ratio: limit / value },
      'the limit is its time at 1 000 events',
    );
  } finally {
    await fill.close();
  }
}

async function slower(bench: Bench, { code: metricCode }: Metric, userId: number): Promise<number> {
  const series = randomUUID();
  let sent = 0;
  const event = () =>
    JSON.stringify({ userId, metricCode, externalEventId: `${series}-${sent++}`, aggregationValue: 1 });
  const value = () => JSON.stringify({ userId, metricCode });
  const medians: number[] = [];
  for (const [path, bodyOf] of [
    ['/merchant/metric/event/new', event],
    ['/merchant/metric/event/current_value', value],
  ] as const) {
    await run(bench, path, bodyOf, 1, 1);
    medians.push((await run(bench, path, bodyOf, 1, checks / 100)).p50);
  }
  return Math.max(...medians);
}

/** Events of one user and metric, written past the API as it would have; the counter is brought along. */
async function filler(bench: Bench, { id: metricId, code }: Metric, userId: number) {
  const { services, merchantId, baseUrl, apiKey } = bench.stack.facts();
  const url = new URL(services.postgres.url);
  url.pathname = '/recur_billing';
  const client = new pg.Client(url.toString());
  await client.connect();
  const first = { userId, metricCode: code, externalEventId: randomUUID(), aggregationValue: 1 };
  const api = createClient({ baseUrl, credential: apiKey });
  orThrow(await api.post('/merchant/metric/event/new', first));
  const own = [merchantId, userId, metricId];
  let there = 0;
  return {
    upTo: async (count: number) => {
      await client.query(fillText, [...own, there, count]);
      await client.query(keysText, [...own, there, count]);
      await client.query(countText, [...own, count - there]);
      there = count;
      await client.query('analyze usage_events, usage_event_keys, usage_counters');
      await client.query('checkpoint');
    },
    close: () => client.end(),
  };
}

const fillText = `insert into usage_events select e.merchant_id, 1000000000000 + n, e.event_time, e.user_id, e.metric_id,
    e.subscription_id, 'fill-' || n, 1, '', '', e.counter_start, 1, n, e.metric_limit, e.create_time, 0
  from (select * from usage_events where merchant_id = $1 and user_id = $2 and metric_id = $3 limit 1) e,
    generate_series($4::bigint + 1, $5::bigint) n`;
const keysText = `insert into usage_event_keys select k.merchant_id, k.user_id, k.metric_id, 'fill-' || n,
    1000000000000 + n, k.event_time, false
  from (select * from usage_event_keys where merchant_id = $1 and user_id = $2 and metric_id = $3 limit 1) k,
    generate_series($4::bigint + 1, $5::bigint) n`;
const countText = `update usage_counters set events = events + $4, used = used + $4, max_event_id = 1000000000000
  where merchant_id = $1 and user_id = $2 and metric_id = $3`;

function run(bench: Bench, path: string, bodyOf: () => string, concurrency: number, seconds: number) {
  const { baseUrl, apiKey } = bench.stack.facts();
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  return load(baseUrl, concurrency, seconds, () => ({ method: 'POST', path, headers, body: bodyOf() }));
}
