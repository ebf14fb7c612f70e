import { createClient } from '@recur/client';
import type { TemporaryStack } from '../../local/temporary.js';
import { median } from '../load.js';
import type { Measure } from '../measure.js';
import { finishedInvoices } from './sales.js';

const rounds = 3;
const seconds = 5;
const connections = 8;
const invoices = 50;
/** PDFs per second that one processor should make. */
const aim = 50;

/** PDFs of finished invoices with three lines at their signed links, at 8 connections; the limit is a fixed aim. */
export async function documentRate(stack: TemporaryStack): Promise<Measure> {
  const { baseUrl, apiKey } = stack.facts();
  const sales = await finishedInvoices(createClient({ baseUrl, credential: apiKey }), invoices);
  const urls = sales.map(({ gatewayInvoicePdf }) => `${baseUrl}${new URL(gatewayInvoicePdf).pathname}`);
  await fetched(urls, 2);
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(await fetched(urls, seconds));
  const value = median(rates);
  return { value, unit: '1/s', limit: aim, ratio: value / aim };
}

/** PDFs per second, the links in turn; an answer that is none fails the run. */
async function fetched(urls: readonly string[], forSeconds: number): Promise<number> {
  const started = performance.now();
  const end = started + forSeconds * 1000;
  let count = 0;
  let next = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const response = await fetch(urls[next++ % urls.length] as string);
        const head = Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 200);
        if (!head.startsWith('%PDF-')) throw new Error(`a document was answered with ${head}`);
        count++;
      }
    }),
  );
  return (count * 1000) / (performance.now() - started);
}
