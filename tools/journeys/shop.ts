import { randomUUID } from 'node:crypto';
import { type Client, createClient, type Input, orThrow } from '@recur/client';
import { webhookEventNames } from '@recur/contracts';
import type { Merchant } from '../local/settings.js';
import type { Receiver } from './receiver.js';

/** A merchant that is ready to sell: an active plan, a gateway, a first user, and all its webhooks to a receiver. */
export interface Shop {
  api: Client;
  merchantId: number;
  planId: number;
  userId: number;
  endpointId: number;
}

export const newUser = async (api: Client): Promise<number> =>
  orThrow(await api.post('/merchant/user/new', { email: `${randomUUID()}@example.com` })).user.id;

export async function newPlan(api: Client, more: Partial<Input<'/merchant/plan/new'>> = {}): Promise<number> {
  const { plan } = orThrow(
    await api.post('/merchant/plan/new', {
      planName: 'Pro',
      amount: 4900,
      currency: 'EUR',
      intervalUnit: 'month',
      intervalCount: 1,
      ...more,
    }),
  );
  return plan.id;
}

export async function activePlan(api: Client): Promise<number> {
  const planId = await newPlan(api);
  orThrow(await api.post('/merchant/plan/activate', { planId }));
  return planId;
}

/** Body of invoice/new: a month of a plan, a setup fee and a credit. */
export const order = (userId: number, planId: number, more: object = {}) => ({
  userId,
  currency: 'EUR',
  taxPercentage: 825,
  lines: [
    { planId, quantity: 1 },
    { name: 'Setup', quantity: 3, unitAmountExcludingTax: 1999 },
    { name: 'Welcome credit', quantity: 1, unitAmountExcludingTax: -500 },
  ],
  ...more,
});

export async function openShop(baseUrl: string, merchant: Merchant, receiver: Receiver): Promise<Shop> {
  const api = createClient({ baseUrl, credential: merchant.apiKey });
  // the first: what happens before it is there may go out to it, or not
  // the events of the version that runs, which may be older than this checkout
  const { eventList } = orThrow(await api.post('/merchant/webhook/event_list', {}));
  const events = webhookEventNames.filter(name => eventList.includes(name));
  const { endpointId } = orThrow(await api.post('/merchant/webhook/new_endpoint', { url: receiver.url, events }));
  const [planId, userId] = await Promise.all([
    activePlan(api),
    newUser(api),
    api.post('/merchant/gateway/wire_transfer_setup', { currency: 'EUR', minimumAmount: 100 }).then(orThrow),
  ]);
  return { api, merchantId: Number(merchant.merchantId), planId, userId, endpointId };
}
