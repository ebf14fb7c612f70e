import { randomUUID } from 'node:crypto';
import { type Client, createClient, orThrow } from '@recur/client';
import { aggregationType, metricType } from '@recur/contracts';
import type { Say } from '../local/progress.js';
import { sandboxGateway, until } from './card.js';

/** Links to hosted pages, each to be opened in a browser. */
export interface HostedPages {
  /** Sells a plan to a new user; opens once. */
  checkout: string;
  /** Shows a subscriber what they have; opens once. */
  portal: string;
  /** An open invoice, until it is paid. */
  invoice: string;
}

const monthly = { currency: 'EUR', intervalUnit: 'month', intervalCount: 1 } as const;

/** Sells two plans, one of them to a subscriber who uses it, and says where the pages for that are. Repeatable. */
export async function hostedJourney(baseUrl: string, apiKey: string, say: Say): Promise<HostedPages> {
  const api = createClient({ baseUrl, credential: apiKey });
  const [gatewayId, code] = [await sandboxGateway(api), `exports-${randomUUID().slice(0, 8)}`];
  const { merchantMetric } = orThrow(
    await api.post('/merchant/metric/new', {
      code,
      metricName: 'Exports',
      type: metricType.limitMetered,
      aggregationType: aggregationType.count,
    }),
  );
  const { product } = orThrow(await api.post('/merchant/product/new', { productName: 'Studio' }));
  orThrow(await api.post('/merchant/product/activate', { productId: product.id }));
  const sold = async (planName: string, amount: number, metricLimit: number) => {
    const metricLimits = [{ metricId: merchantMetric.id, metricLimit }];
    const terms = { productId: product.id, planName, amount, ...monthly, metricLimits };
    const { plan } = orThrow(await api.post('/merchant/plan/new', terms));
    orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
    return orThrow(await api.post('/merchant/plan/publish', { planId: plan.id })) && plan;
  };
  const [basic, plus] = [await sold('Basic', 1900, 20), await sold('Plus', 4900, 200)];
  say(`Plans ${basic.id} and ${plus.id} are published: users can change from one to the other by themselves.`);

  const { email, userId } = await subscriber(api, basic.id, gatewayId);
  for (let at = 0; at < 12; at++) {
    const event = { userId, metricCode: code, externalEventId: randomUUID() };
    orThrow(await api.post('/merchant/metric/event/new', event));
  }
  const lines = [{ name: 'Workshop', unitAmountExcludingTax: 9_900 }];
  const order = { userId, gatewayId: await transferGateway(api), currency: 'EUR', taxPercentage: 1900, finish: true };
  const { invoice } = orThrow(await api.post('/merchant/invoice/new', { ...order, lines }));
  say(`User ${userId} has Basic, has used 12 of 20 exports, and owes invoice ${invoice.number}.`);

  const buyer = `buyer-${randomUUID().slice(0, 8)}@example.com`;
  const { clientSession } = orThrow(await api.post('/merchant/session/new_session', { email: buyer }));
  const pages = {
    checkout: `${plus.checkoutUrl}&session=${clientSession}`,
    portal: orThrow(await api.get('/merchant/session/customer_portal_url', { email })).url,
    invoice: invoice.link,
  };
  say(`Open in a browser, each once: the checkout of Plus ${pages.checkout}`);
  say(`The portal of user ${userId}: ${pages.portal}`);
  say(`The invoice, as often as you like: ${pages.invoice}`);
  return pages;
}

/** A new user whose card has paid for a plan. */
async function subscriber(api: Client, planId: number, gatewayId: number) {
  const email = `studio-${randomUUID().slice(0, 8)}@example.com`;
  const { user } = orThrow(await api.post('/merchant/user/new', { email, countryCode: 'DE', firstName: 'Kim' }));
  const userId = user.id;
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
  const bought = orThrow(await api.post('/merchant/subscription/create_submit', { userId, gatewayId, planId }));
  const { subscriptionId } = bought.subscription;
  const state = async () => orThrow(await api.get('/merchant/subscription/detail', { subscriptionId })).subscription;
  await until(state, ({ status }) => status === 2);
  return { email, userId };
}

/** The merchant's gateway for wire transfers, which the first journey sets up; else the sandbox's. */
async function transferGateway(api: Client): Promise<number> {
  const { gateways } = orThrow(await api.get('/merchant/gateway/list', {}));
  return gateways.find(({ gatewayName }) => gatewayName === 'wire_transfer')?.gatewayId ?? sandboxGateway(api);
}
