import type { TemporaryStack } from '../local/temporary.js';
import { type Load, load, median } from './load.js';
import type { Measure } from './measure.js';

const connections = 32;
const rounds = 3;
const seconds = 5;
/** Each read of a list or a count is to end within this time in 99 of 100 cases. */
const limitMs = 50;
const year = 31_536_000;

type Get = (path: string) => () => { method: string; path: string; headers: Record<string, string>; body: string };

const getting = (stack: TemporaryStack): Get => {
  const headers = { authorization: `Bearer ${stack.facts().apiKey}` };
  return path => () => ({ method: 'GET', path, headers, body: '' });
};

const list = (query: string) => `/merchant/invoice/list?${query}`;

/** The first page of invoice/list at 32 connections; the limit is the echo. */
export async function listRate(stack: TemporaryStack, limit: number): Promise<{ measure: Measure; p99: number }> {
  const { baseUrl } = stack.facts();
  const loads: Load[] = [];
  for (let round = 0; round < rounds; round++) {
    loads.push(await load(baseUrl, connections, seconds, getting(stack)(list('count=20'))));
  }
  const value = median(loads.map(({ perSecond }) => perSecond));
  return { measure: { value, unit: '1/s', limit, ratio: value / limit }, p99: median(loads.map(({ p99 }) => p99)) };
}

/** Every filter of invoice/list, with a value that many have and where there is one a value that few have. */
const filters = (now: number, userId: number): Record<string, string> => ({
  none: '',
  'last page': 'page=499',
  'last page of 100': 'page=99&count=100',
  'status paid': 'status=3',
  'status paid, last page': 'status=3&page=499',
  'status failed': 'status=4',
  'three states': 'status=1,2,5',
  userId: `userId=${userId}`,
  firstName: 'firstName=first97',
  lastName: 'lastName=nobody',
  sendEmail: 'sendEmail=nobody@example.com',
  'currency EUR': 'currency=EUR',
  'currency USD, last page': 'currency=USD&page=499',
  'amount, narrow': 'amountStart=500000&amountEnd=500100',
  'amount, wide': 'amountStart=1000',
  gatewayIds: 'gatewayIds=1',
  type: 'type=1',
  createTime: `createTimeStart=${now - year / 2}&createTimeEnd=${now - year / 2 + 86_400}`,
  reportTime: `reportTimeStart=${now - year / 2}&reportTimeEnd=${now - year / 2 + 86_400}`,
  'searchKey, a number': 'searchKey=1500000',
  'searchKey, a name': 'searchKey=Order 50',
  deleteInclude: 'deleteInclude=true',
  'by totalAmount': 'sortField=totalAmount',
  'by totalAmount, last page': 'sortField=totalAmount&page=499',
});

/** p99 of each filter, one request after the other; the measure is the slowest. */
export async function filterTimes(
  stack: TemporaryStack,
  userId: number,
  tell: (line: string) => void,
): Promise<Measure> {
  const now = Math.floor(Date.now() / 1000);
  const queries = Object.entries(filters(now, userId)).map(
    ([name, query]) => [name, list(query.replaceAll(' ', '%20'))] as const,
  );
  return slowest(stack, queries, tell);
}

/** p99 of user/count over ranges of any length. */
export async function countTimes(stack: TemporaryStack, tell: (line: string) => void): Promise<Measure> {
  const now = Math.floor(Date.now() / 1000);
  const ranges = {
    'all users': '',
    'half a year': `createTimeStart=${now - year / 2}`,
    'an hour and a bit': `createTimeStart=${now - year / 2}&createTimeEnd=${now - year / 2 + 3_700}`,
  };
  const queries = Object.entries(ranges).map(([name, query]) => [name, `/merchant/user/count?${query}`] as const);
  return slowest(stack, queries, tell);
}

/** p99 of search/key_search by keys of every kind; `number` is that of an invoice. */
export async function searchTimes(
  stack: TemporaryStack,
  number: string,
  tell: (line: string) => void,
): Promise<Measure> {
  const keys = {
    'id of a user': '1000500000',
    'e-mail': '500000@EXAMPLE.com',
    externalUserId: 'ext-500000',
    'number of an invoice': number,
    'digits of a number': String(Number(number.slice(-9))),
    'rare name': 'last 8977',
    'frequent name': 'first',
    'part of an e-mail': '500001@exam',
    'nothing that there is': 'quixotic',
    'two letters': 'qx',
  };
  const of = (key: string) => `/merchant/search/key_search?searchKey=${encodeURIComponent(key)}`;
  return slowest(
    stack,
    Object.entries(keys).map(([name, key]) => [name, of(key)] as const),
    tell,
  );
}

/** p99 of each query, named, one request after the other; the measure is the slowest. */
export async function slowest(
  stack: TemporaryStack,
  queries: readonly (readonly [string, string])[],
  tell: (line: string) => void,
): Promise<Measure> {
  const { baseUrl } = stack.facts();
  const times: number[] = [];
  for (const [name, path] of queries) {
    const request = getting(stack)(path);
    await load(baseUrl, 1, 0.3, request);
    const { p50, p99 } = await load(baseUrl, 1, 1.5, request);
    times.push(p99);
    tell(`  ${name.padEnd(28)} p50 ${p50.toFixed(1).padStart(6)} ms  p99 ${p99.toFixed(1).padStart(6)} ms`);
  }
  const value = Math.max(...times);
  return { value, unit: 'ms', limit: limitMs, ratio: limitMs / value };
}
