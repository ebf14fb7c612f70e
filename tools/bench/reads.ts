import type { TemporaryStack } from '../local/temporary.js';
import { echoRate } from './echo.js';
import { load, median } from './load.js';
import type { Measure } from './measure.js';

const connections = 32;
const rounds = 3;
const seconds = 5;

/** Small reads through HTTP at 32 connections, between rounds of the echo; medians of three. */
export async function readRates(stack: TemporaryStack) {
  const { baseUrl, apiKey } = stack.facts();
  const headers = { authorization: `Bearer ${apiKey}` };
  const reading = (path: string) =>
    load(baseUrl, connections, seconds, () => ({ method: 'GET', path, headers, body: '' }));
  const [limits, counts, lists]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    limits.push((await echoRate(stack, connections, seconds)).perSecond);
    counts.push((await reading('/merchant/user/count')).perSecond);
    lists.push((await reading('/merchant/webhook/event_list')).perSecond);
  }
  const limit = median(limits);
  const measure = (values: number[]): Measure => ({
    value: median(values),
    unit: '1/s',
    limit,
    ratio: median(values) / limit,
  });
  return { echo: limit, user_count: measure(counts), event_list: measure(lists) };
}
