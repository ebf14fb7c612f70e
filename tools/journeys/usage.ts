import { randomUUID } from 'node:crypto';
import { createClient, orThrow } from '@recur/client';
import { aggregationType, metricChargeType, metricType } from '@recur/contracts';
import type { Say } from '../local/progress.js';
import { advanceTo } from '../simulate/clock.js';
import { sandboxGateway } from './card.js';
import { inWords, price, SETTLED } from './subscription.js';

/** Seconds after the end of a period until its usage is billed and charged. */
const BILLED = 7_200;

/**
 * A metered subscription on the merchant's clock, through HTTP only: its usage is recorded, previewed, and billed when the
 * period is over. Repeatable on the same merchant. Returns the invoice's id. Throws Error where it is not as previewed.
 */
export async function usageJourney(baseUrl: string, apiKey: string, say: Say): Promise<string> {
  const api = createClient({ baseUrl, credential: apiKey });
  const [gatewayId, code] = [await sandboxGateway(api), `calls-${randomUUID().slice(0, 8)}`];
  const { merchantMetric } = orThrow(
    await api.post('/merchant/metric/new', {
      code,
      metricName: 'Calls',
      type: metricType.chargeMetered,
      aggregationType: aggregationType.sum,
      aggregationProperty: 'calls',
    }),
  );
  const graduatedAmounts = [
    { startValue: 0, endValue: 100, perAmount: 10 },
    { startValue: 100, endValue: -1, perAmount: 5 },
  ];
  const { plan } = orThrow(
    await api.post('/merchant/plan/new', {
      planName: 'Metered',
      amount: 500,
      currency: 'EUR',
      intervalUnit: 'month',
      intervalCount: 1,
      metricMeteredCharge: [{ metricId: merchantMetric.id, chargeType: metricChargeType.graduated, graduatedAmounts }],
    }),
  );
  orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
  const email = `caller-${randomUUID().slice(0, 8)}@example.com`;
  const userId = orThrow(await api.post('/merchant/user/new', { email })).user.id;
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
  const terms = { userId, gatewayId, planId: plan.id };
  const { subscription } = orThrow(await api.post('/merchant/subscription/create_submit', terms));
  const { subscriptionId, createTime, currentPeriodEnd } = subscription;
  await advanceTo(api, createTime + SETTLED);
  say(`User ${userId} has a plan of 5.00 EUR a month, of which the first 100 calls cost 0.10 EUR each, and more 0.05.`);

  const events = [60, 60, 30].map(aggregationValue => ({
    userId,
    metricCode: code,
    externalEventId: randomUUID(),
    aggregationValue,
  }));
  for (const event of [...events, ...events]) orThrow(await api.post('/merchant/metric/event/new', event));
  const path = '/merchant/subscription/preview_subscription_next_invoice';
  const { invoice: preview } = orThrow(await api.get(path, { subscriptionId }));
  say(
    `150 calls are recorded, each event sent twice and counted once; the next invoice will be ${price(preview.totalAmount)}.`,
  );

  await advanceTo(api, currentPeriodEnd + BILLED);
  const { invoices } = orThrow(await api.get('/merchant/invoice/list', { userId, count: 1 }));
  const [invoice] = invoices;
  if (!invoice || inWords(invoice) !== inWords(preview)) throw new Error(`usage of user ${userId} is not as previewed`);
  const lines = invoice.lines.map(
    line => `${price(line.amount)} for ${line.metricCharge ? line.description : line.name}`,
  );
  say(`The period is over. Invoice ${invoice.number} is as it was previewed: ${lines.join(', and ')}.`);
  return invoice.invoiceId;
}
