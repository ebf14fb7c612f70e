import { createClient } from '@recur/client';
import { newUser } from '../journeys/shop.js';
import { exportTime } from './exports.js';
import { filler } from './fill.js';
import { createRate } from './invoices.js';
import { logTimes } from './logs.js';
import type { Bench } from './measure.js';
import { echoLimit } from './reads.js';
import { countTimes, filterTimes, listRate, searchTimes } from './sizes.js';

const [few, many] = [10_000, 1_000_000];

/** Lists, counts and invoice/new of a merchant with 10 000 and 1 000 000 of each, next to a hundred small merchants. */
export async function growthMeasures(bench: Bench): Promise<void> {
  const { stack } = bench;
  const { merchantId, services } = stack.facts();
  const fill = await filler(services.postgres.url, Number(merchantId));
  try {
    if (bench.wants('invoice_list_10k', 'invoice_list_1m', 'invoice_new_1m', 'invoice_filters', 'export_1m')) {
      await invoices(bench, fill);
    }
    if (!bench.wants('operation_logs', 'user_count_1m', 'key_search_1m')) return;
    bench.tell('  · filling up to 1 000 000 users …');
    await fill.users(many);
    if (bench.wants('operation_logs')) {
      bench.tell('  · filling up to 1 000 000 entries of the operation log …');
      await fill.logEntries(many);
      const logs = await logTimes(stack, bench.tell);
      bench.add('operation_logs', logs, 'the slowest p99 of every filter at 1 000 000 entries');
    }
    if (bench.wants('user_count_1m')) {
      bench.add('user_count_1m', await countTimes(stack, bench.tell), 'the slowest p99 of any range at 1 000 000');
    }
    if (bench.wants('key_search_1m')) {
      const number = await fill.someNumber();
      bench.add('key_search_1m', await searchTimes(stack, number, bench.tell), 'the slowest p99 of any key');
    }
  } finally {
    await fill.close();
  }
}

async function invoices(bench: Bench, fill: Awaited<ReturnType<typeof filler>>): Promise<void> {
  const { stack } = bench;
  const { baseUrl, apiKey } = stack.facts();
  const userId = await newUser(createClient({ baseUrl, credential: apiKey }));
  bench.tell('  · filling up to 10 000 invoices …');
  await fill.neighbours();
  await fill.invoices(few);
  if (bench.wants('invoice_list_10k')) {
    const list = await listRate(stack, await echoLimit(bench));
    bench.add('invoice_list_10k', list.measure, `p99 ${list.p99.toFixed(1)} ms`);
  }
  if (!bench.wants('invoice_list_1m', 'invoice_new_1m', 'invoice_filters', 'export_1m')) return;
  const limit = bench.wants('invoice_new_1m') ? await createRate(bench) : Number.NaN;
  bench.tell('  · filling up to 1 000 000 invoices; this takes some minutes …');
  await fill.invoices(many);
  if (bench.wants('invoice_list_1m')) {
    const list = await listRate(stack, await echoLimit(bench));
    bench.add('invoice_list_1m', list.measure, `p99 ${list.p99.toFixed(1)} ms`);
  }
  if (bench.wants('invoice_new_1m')) {
    const value = await createRate(bench);
    const measure = { value, unit: '1/s', limit, ratio: value / limit };
    bench.add('invoice_new_1m', measure, 'the limit is its rate at 10 000');
  }
  if (bench.wants('invoice_filters')) {
    const filters = await filterTimes(stack, userId, bench.tell);
    bench.add('invoice_filters', filters, 'the slowest p99 of every filter at 1 000 000');
  }
  if (bench.wants('export_1m')) {
    const { more, ...measure } = await exportTime(bench);
    bench.add('export_1m', measure, more);
  }
}
