import type { Client } from '@recur/client';
import { newUser } from '../journeys/shop.js';
import type { TemporaryStack } from '../local/temporary.js';
import { quantile } from './load.js';
import type { Measure } from './measure.js';
import { type Arrival, startSink } from './sink.js';
import { subscribe } from './webhook-backlog.js';

const perSecond = 20;
const warmEvents = 40;
const events = 300;
const endpoints = 100;
const withinMs = 60_000;
/** Factor by which the median to 100 endpoints may exceed that to one. */
const within = 3;

type Sink = Awaited<ReturnType<typeof startSink>>;

/**
 * Milliseconds from the answer of user/new to the arrival of its webhook, at 20 events a second to 100 endpoints. The
 * limit is three times the median of one event to one endpoint, at the same rate in the same run.
 */
export async function webhookSteady(stack: TemporaryStack): Promise<{ measure: Measure; more: string }> {
  const sink = await startSink();
  try {
    const [one] = (await subscribe(stack, `${sink.url}/one`, 1, 1, ['user.created'])) as [Client];
    const [all] = (await subscribe(stack, `${sink.url}/all`, 1, endpoints, ['user.created'])) as [Client];
    await sink.arrivals();
    await lags(one, sink, warmEvents, 1);
    const single = await lags(one, sink, events, 1);
    await lags(all, sink, warmEvents, endpoints);
    const many = await lags(all, sink, events, endpoints);
    const value = quantile(many, 0.5);
    const limit = within * quantile(single, 0.5);
    const told = (sorted: readonly number[]) =>
      `median ${quantile(sorted, 0.5).toFixed(1)} ms, p99 ${quantile(sorted, 0.99).toFixed(1)} ms`;
    return {
      measure: { value, unit: 'ms', limit, ratio: limit / Math.max(value, 0.1) },
      more: `to ${endpoints} endpoints ${told(many)}; to one ${told(single)}`,
    };
  } finally {
    sink.close();
  }
}

/** Creates users at a fixed rate; returns the sorted delays of all webhooks. */
async function lags(api: Client, sink: Sink, count: number, each: number): Promise<number[]> {
  const answered = new Map<number, number>();
  const started = performance.now();
  const create = async () => {
    const id = await newUser(api);
    answered.set(id, performance.timeOrigin + performance.now());
  };
  const creating: Promise<void>[] = [];
  for (let at = 0; at < count; at++) {
    await new Promise(resolve => setTimeout(resolve, started + (at * 1000) / perSecond - performance.now()));
    creating.push(create());
  }
  await Promise.all(creating);
  const arrivals: Arrival[] = [];
  for (const deadline = Date.now() + withinMs; arrivals.length < count * each; ) {
    if (Date.now() > deadline) throw new Error(`${arrivals.length} of ${count * each} webhooks arrived`);
    await new Promise(resolve => setTimeout(resolve, 50));
    arrivals.push(...(await sink.arrivals()));
  }
  if (arrivals.length > count * each) throw new Error(`${arrivals.length} webhooks arrived instead of ${count * each}`);
  return arrivals.map(([id, atMs]) => atMs - (answered.get(id) ?? Number.NaN)).sort((a, b) => a - b);
}
