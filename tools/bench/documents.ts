import { Api } from '../journeys/api.js';
import type { TemporaryStack } from '../local/temporary.js';
import { median } from './load.js';
import type { Measure } from './measure.js';

const rounds = 3;
const seconds = 5;
const connections = 8;
/** PDFs per second that one processor should make. */
const aim = 50;

/** Invoices with three lines as PDFs at their links, at 8 connections; the limit is a fixed aim. */
export async function documentRate(stack: TemporaryStack): Promise<Measure> {
  const { baseUrl, apiKey } = stack.facts();
  const api = new Api(baseUrl, apiKey);
  await api.post('/merchant/gateway/wire_transfer_setup', { currency: 'EUR', minimumAmount: 0 }).catch(() => undefined);
  const { user } = await api.post<{ user: { id: number } }>('/merchant/user/new', { email: 'pdf@example.com' });
  const { invoice } = await api.post<{ invoice: { gatewayInvoicePdf: string } }>('/merchant/invoice/new', {
    userId: user.id,
    currency: 'EUR',
    taxPercentage: 1900,
    finish: true,
    lines: ['Pro plan', 'Extra seat', 'Overage'].map(name => ({ name, quantity: 3, unitAmountExcludingTax: 900 })),
  });
  const url = `${baseUrl}${new URL(invoice.gatewayInvoicePdf).pathname}`;
  await fetched(url, 2);
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(await fetched(url, seconds));
  const value = median(rates);
  return { value, unit: '1/s', limit: aim, ratio: value / aim };
}

/** PDFs per second; an answer that is none fails the run. */
async function fetched(url: string, forSeconds: number): Promise<number> {
  const started = performance.now();
  const end = started + forSeconds * 1000;
  let count = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const response = await fetch(url);
        const head = Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 200);
        if (!head.startsWith('%PDF-')) throw new Error(`a document was answered with ${head}`);
        count++;
      }
    }),
  );
  return (count * 1000) / (performance.now() - started);
}
