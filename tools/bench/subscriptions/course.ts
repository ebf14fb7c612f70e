import { type Client, createClient, orThrow } from '@recur/client';
import { activePlan, newUser } from '../../journeys/shop.js';
import type { TemporaryStack } from '../../local/temporary.js';
import { advanceTo, timeOf } from '../../simulate/clock.js';
import { load } from '../load.js';
import type { Bench, Measure } from '../measure.js';
import { echoLimit } from '../reads.js';
import { takeRate } from '../rounds.js';

const [subscriptions, connections] = [100, 32];
const yearSeconds = 366 * 86_400;
/** Seconds in which a year of the clock is to pass. */
const yearWithin = 120;

interface Shop {
  api: Client;
  apiKey: string;
  subscriptionId: string;
}

/** A merchant whose users pay a plan of a month with cards that succeed. */
async function openShop(stack: TemporaryStack, count: number): Promise<Shop> {
  const { apiKey } = await stack.merchant('Course');
  const api = createClient({ baseUrl: stack.facts().baseUrl, credential: apiKey });
  const { gateway } = orThrow(await api.post('/merchant/gateway/setup', { gatewayName: 'sandbox' }));
  const planId = await activePlan(api);
  let subscriptionId = '';
  for (let at = 0; at < count; at++) {
    const [userId, { gatewayId }] = [await newUser(api), gateway];
    orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
    const terms = { planId, userId, gatewayId, quantity: 1 };
    const made = orThrow(await api.post('/merchant/subscription/create_submit', terms));
    subscriptionId = made.subscription.subscriptionId;
  }
  await advanceTo(api, (await timeOf(api)) + 3600);
  return { api, apiKey, subscriptionId };
}

/** Seconds in which a merchant's clock passes a year of 100 subscriptions, of which each is renewed twelve times. */
export async function clockYear(stack: TemporaryStack): Promise<Measure> {
  const { api } = await openShop(stack, subscriptions);
  const since = performance.now();
  await advanceTo(api, (await timeOf(api)) + yearSeconds);
  const value = (performance.now() - since) / 1000;
  return { value, unit: 's', limit: yearWithin, ratio: yearWithin / value };
}

/** Previews of the next invoice at 32 connections; the limit is the echo. */
export async function previewRate(bench: Bench): Promise<void> {
  const { apiKey, subscriptionId } = await openShop(bench.stack, 1);
  const path = `/merchant/subscription/preview_subscription_next_invoice?subscriptionId=${subscriptionId}`;
  const headers = { authorization: `Bearer ${apiKey}` };
  const { baseUrl } = bench.stack.facts();
  await takeRate(bench, 'preview', {
    load: seconds => load(baseUrl, connections, seconds, () => ({ method: 'GET', path, headers, body: '' })),
    limit: () => echoLimit(bench),
  });
}
