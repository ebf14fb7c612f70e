import { randomUUID } from 'node:crypto';
import { type Client, createClient, orThrow } from '@recur/client';
import { newUser } from '../journeys/shop.js';
import type { Stack } from '../local/control.js';

/** A merchant with usage: a charged and a limited metric in one plan, and users who have subscribed to it. */
export interface UsageShop {
  charged: Metric;
  limited: Metric;
  userIds: number[];
}

export interface Metric {
  id: number;
  code: string;
}

/** Opens one with that many users; their subscriptions are active. */
export async function openUsageShop(stack: Pick<Stack, 'facts'>, users = 50): Promise<UsageShop> {
  const { baseUrl, apiKey } = stack.facts();
  const api = createClient({ baseUrl, credential: apiKey });
  const metric = async (type: number): Promise<Metric> => {
    const code = `bench-${randomUUID()}`;
    const body = { code, metricName: code, type, aggregationType: 5, aggregationProperty: 'units' };
    const { merchantMetric } = orThrow(await api.post('/merchant/metric/new', body));
    return merchantMetric;
  };
  const [charged, limited] = [await metric(2), await metric(1)];
  const gatewayId = await wireTransfer(api);
  const { plan } = orThrow(
    await api.post('/merchant/plan/new', {
      planName: 'Metered',
      amount: 4900,
      currency: 'EUR',
      intervalUnit: 'month',
      intervalCount: 1,
      metricLimits: [{ metricId: limited.id, metricLimit: 1_000_000_000_000 }],
      metricMeteredCharge: [{ metricId: charged.id, standardAmount: 2 }],
    }),
  );
  orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
  const userIds: number[] = [];
  for (let at = 0; at < users; at++) userIds.push(await subscribed(api, plan.id, gatewayId));
  return { charged, limited, userIds };
}

async function subscribed(api: Client, planId: number, gatewayId: number): Promise<number> {
  const userId = await newUser(api);
  const { invoiceId } = orThrow(
    await api.post('/merchant/subscription/create_submit', { planId, userId, gatewayId, quantity: 1 }),
  );
  orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', { invoiceId, transferNumber: randomUUID() }));
  return userId;
}

/** Id of the merchant's wire transfer gateway, which is set up unless it was before. */
export async function wireTransfer(api: Client): Promise<number> {
  const { gateways } = orThrow(await api.get('/merchant/gateway/list', {}));
  const known = gateways.find(({ gatewayName }) => gatewayName === 'wire_transfer');
  if (known) return known.gatewayId;
  const body = { currency: 'EUR', minimumAmount: 1 };
  return orThrow(await api.post('/merchant/gateway/wire_transfer_setup', body)).gateway.gatewayId;
}
