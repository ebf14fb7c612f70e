import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tuneEngine } from '@recur/platform';
import { Api } from '../journeys/api.js';
import { startReceiver } from '../journeys/receiver.js';
import { obtain } from '../local/binaries.js';
import { Failure } from '../local/failure.js';
import { openHome } from '../local/home.js';
import { say } from '../local/progress.js';
import { type TemporaryStack, temporaryStack } from '../local/temporary.js';
import { filler } from './fill.js';
import { load, median, quantile } from './load.js';
import { logTimes } from './logs.js';
import { describeMachine, memoryOf } from './machine.js';
import type { Measure } from './measure.js';
import { catalogTimes } from './plans.js';
import { readRates } from './reads.js';
import { countTimes, filterTimes, listRate } from './sizes.js';
import { lagBesideTrouble } from './trouble.js';
import { webhookBurst } from './webhook-burst.js';
import { webhookSteady } from './webhook-steady.js';
import { deliveryRate } from './webhooks.js';
import { ageServer, invoiceYardstick } from './yardstick.js';

type Measures = Record<string, Measure>;

const rounds = 3;
const seconds = 10;
const warmSeconds = 15;

/**
 * `npm run bench [-- --json FILE]`: measures a stack of its own, started for this, against fixed limits that are
 * measured on the same machine and PostgreSQL server in the same run.
 */
export async function run(args: readonly string[]): Promise<number> {
  const file = jsonFile(args);
  // what stops the load generator would count as the apps' own
  tuneEngine();
  const { pgbench } = obtain(openHome(), ['pgbench'], say);
  const unlimited = { gateway: { RATE_PER_SECOND: '1000000', RATE_BURST: '1000000' } };
  const stack = await temporaryStack(say, unlimited);
  const measures: Measures = {};
  const add = (name: string, measure: Measure, more = '') => {
    measures[name] = measure;
    const { value, unit, limit, ratio } = measure;
    say(
      `${name.padEnd(18)} ${value.toFixed(1).padStart(9)} ${unit.padEnd(4)} limit ${limit.toFixed(1).padStart(9)}  ratio ${ratio.toFixed(3)}  ${more}`,
    );
  };
  try {
    say(await describeMachine(stack.facts().services.postgres.url));
    say('  · giving the server a past: WAL files to write over …');
    await ageServer(stack.facts().services.postgres.url);
    await warm(stack);
    add('ready', await readiness(stack));
    add('memory_idle', await idleMemory(stack));
    const invoices = await invoiceRate(stack, pgbench);
    add('invoice_new', invoices.measure, invoices.more);
    const reads = await readRates(stack);
    add('user_count', reads.user_count);
    add('event_list', reads.event_list);
    say('  · filling up to 100 000 plans and products …');
    const { plans, products } = await catalogTimes(stack, say);
    add('plan_list', plans, 'the slowest p99 of every filter and order at 100 000');
    add('product_list', products, 'the slowest p99 of every filter and order at 100 000');
    add('webhook_deliveries', await deliveryRate(stack));
    const steady = await webhookSteady(stack);
    add('webhook_steady', steady.measure, steady.more);
    const burst = await webhookBurst(stack);
    add('webhook_burst', burst.measure, burst.more);
    const lag = await lagBesideTrouble(stack);
    add('webhook_lag', lag.measure, lag.more);
    await growing(stack, reads.echo, add);
    // last, because its endpoint stays subscribed
    const arrival = await webhookArrival(stack);
    add('webhook_arrival', arrival.measure, `p99 ${arrival.p99.toFixed(1)} ms`);
  } finally {
    await stack.close();
  }
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(measures, null, 2)}\n`);
  return 0;
}

type Add = (name: string, measure: Measure, more?: string) => void;

/** Lists, counts and invoice/new where a merchant has 10 000 and 1 000 000 of each, beside a hundred small merchants. */
async function growing(stack: TemporaryStack, echo: number, add: Add): Promise<void> {
  const { baseUrl, apiKey, merchantId, services } = stack.facts();
  const userId = await newUser(new Api(baseUrl, apiKey));
  const creating = async () => {
    const loads = [];
    for (let round = 0; round < rounds; round++) {
      loads.push(await load(baseUrl, 32, seconds, invoiceRequest(apiKey, order(userId))));
    }
    return median(loads.map(({ perSecond }) => perSecond));
  };
  const fill = await filler(services.postgres.url, Number(merchantId));
  try {
    say('  · filling up to 10 000 invoices …');
    await fill.neighbours();
    await fill.invoices(10_000);
    const few = await listRate(stack, echo);
    add('invoice_list_10k', few.measure, `p99 ${few.p99.toFixed(1)} ms`);
    const before = await creating();
    say('  · filling up to 1 000 000 invoices and users; this takes some minutes …');
    await fill.invoices(1_000_000);
    await fill.users(1_000_000);
    const many = await listRate(stack, echo);
    add('invoice_list_1m', many.measure, `p99 ${many.p99.toFixed(1)} ms`);
    const after = await creating();
    add(
      'invoice_new_1m',
      { value: after, unit: '1/s', limit: before, ratio: after / before },
      'the limit is its rate at 10 000',
    );
    add('invoice_filters', await filterTimes(stack, userId, say), 'the slowest p99 of every filter at 1 000 000');
    say('  · filling up to 1 000 000 entries of the operation log …');
    await fill.logEntries(1_000_000);
    add('operation_logs', await logTimes(stack, say), 'the slowest p99 of every filter at 1 000 000 entries');
    add('user_count_1m', await countTimes(stack, say), 'the slowest p99 of any range at 1 000 000');
  } finally {
    await fill.close();
  }
}

function jsonFile(args: readonly string[]): string | undefined {
  if (args.length === 0) return undefined;
  const [flag, file] = args;
  if (flag !== '--json' || file === undefined || args.length > 2) {
    throw new Failure('npm run bench takes nothing, or -- --json FILE.', 64);
  }
  return file;
}

const order = (userId: number) =>
  JSON.stringify({
    userId,
    currency: 'EUR',
    taxPercentage: 1900,
    lines: [
      { name: 'Pro plan, monthly', quantity: 1, unitAmountExcludingTax: 4900 },
      { name: 'Extra seat', quantity: 3, unitAmountExcludingTax: 900 },
      { name: 'Overage', quantity: 1200, unitAmountExcludingTax: 2 },
    ],
  });

const newUser = async (api: Api) => {
  const email = `${randomUUID()}@example.com`;
  return (await api.post<{ user: { id: number } }>('/merchant/user/new', { email })).user.id;
};

const invoiceRequest = (apiKey: string, body: string) => {
  const series = randomUUID();
  return (at: number) => ({
    method: 'POST',
    path: '/merchant/invoice/new',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': `${series}-${at}`,
    },
    body,
  });
};

/** Everything has run once, and there are data to start on. */
async function warm(stack: TemporaryStack): Promise<void> {
  const { baseUrl, apiKey } = stack.facts();
  const body = order(await newUser(new Api(baseUrl, apiKey)));
  await load(baseUrl, 32, 5, invoiceRequest(apiKey, body));
}

/** invoice/new with three lines at 32 connections, between rounds of the yardstick; medians of three. */
async function invoiceRate(stack: TemporaryStack, pgbench: string) {
  const { baseUrl, apiKey, services } = stack.facts();
  const yardstick = await invoiceYardstick(pgbench, services.postgres.url);
  const body = order(await newUser(new Api(baseUrl, apiKey)));
  // the apps have just been started: until here engines compile what is busy, and databases get their first statistics
  await load(baseUrl, 32, warmSeconds, invoiceRequest(apiKey, body));
  const limits = [];
  const loads = [];
  for (let round = 0; round < rounds; round++) {
    limits.push(await yardstick(seconds));
    loads.push(await load(baseUrl, 32, seconds, invoiceRequest(apiKey, body)));
  }
  const value = median(loads.map(({ perSecond }) => perSecond));
  const limit = median(limits.map(({ perSecond }) => perSecond));
  const p50 = median(loads.map(each => each.p50)).toFixed(1);
  const [p99, limitP99] = [loads, limits].map(all => median(all.map(each => each.p99)).toFixed(1));
  return {
    measure: { value, unit: '1/s', limit, ratio: value / limit },
    more: `p50 ${p50} ms, p99 ${p99} ms; p99 of the limit's own transactions ${limitP99} ms`,
  };
}

/** From the answer of invoice/new to the arrival of its webhook, one after the other; the limit is a tenth of a second. */
async function webhookArrival(stack: TemporaryStack) {
  const { baseUrl, apiKey } = stack.facts();
  const api = new Api(baseUrl, apiKey);
  const receiver = await startReceiver();
  try {
    await api.post('/merchant/webhook/new_endpoint', { url: receiver.url, events: ['invoice.created'] });
    const body = JSON.parse(order(await newUser(api))) as object;
    const times: number[] = [];
    for (let at = 1; at <= 100; at++) {
      await api.post('/merchant/invoice/new', body);
      const answered = performance.now();
      await receiver.until(deliveries => deliveries.length >= at);
      times.push((receiver.deliveries[at - 1]?.at ?? Number.NaN) - answered);
    }
    times.sort((a, b) => a - b);
    const [value, limit] = [quantile(times, 0.5), 100];
    // an arrival may even come before the answer is read: the ratio stays a number
    return { measure: { value, unit: 'ms', limit, ratio: limit / Math.max(value, 0.1) }, p99: quantile(times, 0.99) };
  } finally {
    await receiver.close();
  }
}

/** A start on existing data, everything built; the limit is 15 seconds. */
async function readiness(stack: TemporaryStack): Promise<Measure> {
  const since = performance.now();
  await stack.again();
  const value = (performance.now() - since) / 1000;
  return { value, unit: 's', limit: 15, ratio: 15 / value };
}

/** Σ PSS of all processes of the stack when nothing is asked of it; the limit is 1 GiB. */
async function idleMemory(stack: TemporaryStack): Promise<Measure> {
  const value = memoryOf(Object.values(stack.facts().pids));
  return { value, unit: 'MiB', limit: 1024, ratio: 1024 / value };
}
