import { randomUUID } from 'node:crypto';
import { createClient } from '@recur/client';
import { createRate } from '../invoices.js';
import { load, median } from '../load.js';
import type { Bench } from '../measure.js';
import { paidInvoices, type Sale } from './sales.js';

const connections = 32;
const rounds = 3;
/** Enough that no two requests at once are for the same invoice, and few refunds for each. */
const invoices = 2_000;
const refundAmount = 100;

/** payment/refund/new of a part of a paid invoice, at 32 connections; the limit is invoice/new, in the same run. */
export async function refundRate(bench: Bench) {
  const { stack, seconds } = bench;
  const { baseUrl, apiKey } = stack.facts();
  bench.tell('  · paying 2 000 invoices to refund …');
  const sales = await paidInvoices(createClient({ baseUrl, credential: apiKey }), invoices);
  const limit = await createRate(bench);
  await refunded(bench, sales, seconds.first);
  const loads = [];
  for (let round = 0; round < rounds; round++) loads.push(await refunded(bench, sales, seconds.round));
  const value = median(loads.map(({ perSecond }) => perSecond));
  const [p50, p99] = [loads.map(each => each.p50), loads.map(each => each.p99)].map(all => median(all).toFixed(1));
  return { measure: { value, unit: '1/s', limit, ratio: value / limit }, more: `p50 ${p50} ms, p99 ${p99} ms` };
}

/** Refunds the invoices in turn. */
function refunded({ stack }: Bench, sales: readonly Sale[], seconds: number) {
  const { baseUrl, apiKey } = stack.facts();
  const series = randomUUID();
  return load(baseUrl, connections, seconds, at => {
    const externalRefundId = `${series}-${at}`;
    const { paymentId } = sales[at % sales.length] as Sale;
    return {
      method: 'POST',
      path: '/merchant/payment/refund/new',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': externalRefundId,
      },
      body: JSON.stringify({ paymentId, externalRefundId, currency: 'EUR', refundAmount }),
    };
  });
}
