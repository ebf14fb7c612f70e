import { randomUUID } from 'node:crypto';
import { createClient } from '@recur/client';
import { loadInvoices, orderOf } from '../invoices.js';
import { load } from '../load.js';
import type { Bench } from '../measure.js';
import { takeRate } from '../rounds.js';
import { paidInvoices, type Sale } from './sales.js';

const connections = 32;
/** Enough that no two requests at once are for the same invoice, and few refunds for each. */
const invoices = 2_000;
const refundAmount = 100;

/** payment/refund/new of a part of a paid invoice, at 32 connections; the limit is invoice/new, in the same run. */
export async function refundRate(bench: Bench): Promise<void> {
  const { stack } = bench;
  const { baseUrl, apiKey } = stack.facts();
  bench.tell('  · paying 2 000 invoices to refund …');
  const sales = await paidInvoices(createClient({ baseUrl, credential: apiKey }), invoices);
  const body = await orderOf(stack);
  await takeRate(bench, 'refund_new', {
    load: seconds => refunded(bench, sales, seconds),
    limit: async seconds => (await loadInvoices(stack, body, seconds)).perSecond,
  });
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
