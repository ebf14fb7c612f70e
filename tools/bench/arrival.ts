import { createClient, type Input, orThrow } from '@recur/client';
import { startReceiver } from '../journeys/receiver.js';
import { newUser } from '../journeys/shop.js';
import type { TemporaryStack } from '../local/temporary.js';
import { order } from './invoices.js';
import { quantile } from './load.js';
import type { Measure } from './measure.js';

const invoices = 100;
const limitMs = 100;

/**
 * Time from the answer of invoice/new to the arrival of its webhook, one invoice after the other. The endpoint stays
 * subscribed, so this is measured last.
 */
export async function webhookArrival(stack: TemporaryStack): Promise<{ measure: Measure; p99: number }> {
  const { baseUrl, apiKey } = stack.facts();
  const api = createClient({ baseUrl, credential: apiKey });
  const receiver = await startReceiver();
  try {
    orThrow(await api.post('/merchant/webhook/new_endpoint', { url: receiver.url, events: ['invoice.created'] }));
    const body = JSON.parse(order(await newUser(api))) as Input<'/merchant/invoice/new'>;
    const times: number[] = [];
    for (let at = 1; at <= invoices; at++) {
      orThrow(await api.post('/merchant/invoice/new', body));
      const answered = performance.now();
      await receiver.until(deliveries => deliveries.length >= at);
      times.push((receiver.deliveries[at - 1]?.at ?? Number.NaN) - answered);
    }
    times.sort((a, b) => a - b);
    const value = quantile(times, 0.5);
    // a webhook may arrive before the answer is read: keeps the ratio finite
    const ratio = limitMs / Math.max(value, 0.1);
    return { measure: { value, unit: 'ms', limit: limitMs, ratio }, p99: quantile(times, 0.99) };
  } finally {
    await receiver.close();
  }
}
