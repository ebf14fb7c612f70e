import { randomUUID } from 'node:crypto';
import { createClient } from '@recur/client';
import { newUser } from '../journeys/shop.js';
import type { TemporaryStack } from '../local/temporary.js';
import { load, median } from './load.js';
import type { Bench } from './measure.js';
import { takeRate } from './rounds.js';
import { invoiceYardstick } from './yardstick.js';

const connections = 32;
const rounds = 3;

/** Body of invoice/new with three lines. */
export const order = (userId: number) =>
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

/** Runs every part of the invoice path once, and leaves rows that a start or a fill can use. */
export async function warm({ stack, seconds }: Bench): Promise<void> {
  await loadInvoices(stack, await orderOf(stack), seconds.first);
}

/** invoice/new per second: the median of three rounds at 32 connections. */
export async function createRate({ stack, seconds }: Bench): Promise<number> {
  const body = await orderOf(stack);
  const loads = [];
  for (let round = 0; round < rounds; round++) loads.push(await loadInvoices(stack, body, seconds.round));
  return median(loads.map(({ perSecond }) => perSecond));
}

/** invoice/new with three lines at 32 connections; the limit is the statement. */
export async function invoiceRate(bench: Bench): Promise<void> {
  const { stack, pgbench } = bench;
  const yardstick = await invoiceYardstick(pgbench, stack.facts().services.postgres.url);
  const body = await orderOf(stack);
  const p99s: number[] = [];
  await takeRate(bench, 'invoice_new', {
    load: seconds => loadInvoices(stack, body, seconds),
    limit: async seconds => {
      const { perSecond, p99 } = await yardstick(seconds);
      p99s.push(p99);
      return perSecond;
    },
    more: () => `p99 of the limit's own transactions ${median(p99s).toFixed(1)} ms`,
  });
}

export const orderOf = async (stack: TemporaryStack) => {
  const { baseUrl, apiKey } = stack.facts();
  return order(await newUser(createClient({ baseUrl, credential: apiKey })));
};

/** invoice/new at one gateway of a stack, with its part of the connections. */
export function loadInvoices(
  stack: TemporaryStack,
  body: string,
  seconds: number,
  url = stack.facts().baseUrl,
  gateways = 1,
) {
  const { apiKey } = stack.facts();
  const series = randomUUID();
  return load(url, Math.round(connections / gateways), seconds, at => ({
    method: 'POST',
    path: '/merchant/invoice/new',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': `${series}-${at}`,
    },
    body,
  }));
}
