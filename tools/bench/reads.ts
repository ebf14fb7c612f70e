import { echoRate } from './echo.js';
import { load, median } from './load.js';
import type { Bench } from './measure.js';

const connections = 32;
const rounds = 3;
const seconds = 5;

const reads = { user_count: '/merchant/user/count', event_list: '/merchant/webhook/event_list' } as const;

/** Small reads through HTTP at 32 connections, alternating with the echo, which is their limit; medians of three rounds. */
export async function readRates(bench: Bench): Promise<void> {
  const { baseUrl, apiKey } = bench.stack.facts();
  const headers = { authorization: `Bearer ${apiKey}` };
  const wanted = (['user_count', 'event_list'] as const).filter(name => bench.wants(name));
  const rates: Record<keyof typeof reads, number[]> = { user_count: [], event_list: [] };
  const limits: number[] = [];
  for (let round = 0; round < rounds; round++) {
    limits.push(await echo(bench));
    for (const name of wanted) {
      const reading = () => ({ method: 'GET', path: reads[name], headers, body: '' });
      rates[name].push((await load(baseUrl, connections, seconds, reading)).perSecond);
    }
  }
  const limit = median(limits);
  bench.echoLimit = limit;
  for (const name of wanted) {
    const value = median(rates[name]);
    bench.add(name, { value, unit: '1/s', limit, ratio: value / limit });
  }
}

/** The echo's rate of this run, measured now unless it was before. */
export async function echoLimit(bench: Bench): Promise<number> {
  if (bench.echoLimit === undefined) {
    const limits: number[] = [];
    for (let round = 0; round < rounds; round++) limits.push(await echo(bench));
    bench.echoLimit = median(limits);
  }
  return bench.echoLimit;
}

const echo = async ({ stack }: Bench) => (await echoRate(stack, connections, seconds)).perSecond;
