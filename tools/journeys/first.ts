import { randomUUID } from 'node:crypto';
import { type Client, createClient, type Output, orThrow, RecurError, verifyWebhook } from '@recur/client';
import { exponentOf, gatewayType } from '@recur/contracts';
import { Failure } from '../local/failure.js';
import type { Say } from '../local/progress.js';
import { type Receiver, startReceiver, typeOf } from './receiver.js';
import { type Refunded, refundAThird } from './refund.js';

type Invoice = Output<'/merchant/invoice/finish'>['invoice'];
type Gateway = Output<'/merchant/gateway/list'>['gateways'][number];

/** Result of one run of the journey. */
export interface Journey {
  productId: number;
  planId: number;
  userId: number;
  invoice: Invoice;
  paymentStatus: number;
  /** Types of the webhooks that arrived and were verified, in the order of arrival. */
  webhooks: string[];
  refunded: Refunded;
}

/** An amount in minor units for people, such as 49.00 EUR or 4900 JPY. */
function money(amount: number, currency: string): string {
  const digits = String(amount).padStart(exponentOf(currency) + 1, '0');
  const point = digits.length - exponentOf(currency);
  const fraction = exponentOf(currency) > 0 ? `.${digits.slice(point)}` : '';
  return `${digits.slice(0, point)}${fraction} ${currency}`;
}

/**
 * The first journey, through HTTP only: from an empty merchant to a paid invoice, its verified webhooks, and a refund
 * with its credit note. It can be
 * repeated on the same merchant, and sells in the currency of the wire-transfer gateway. `say` gets a line per step.
 */
export async function firstJourney(baseUrl: string, apiKey: string, say: Say): Promise<Journey> {
  const api = createClient({ baseUrl, credential: apiKey });
  const { eventList } = orThrow(await api.get('/merchant/webhook/event_list', {}));
  say(`${eventList.length} webhook events exist: ${eventList.slice(0, 3).join(', ')}, …`);
  const receiver = await startReceiver();
  try {
    return await withEndpoint(api, receiver, say);
  } finally {
    await receiver.close();
  }
}

/** Deletes the endpoint however the journey ends: nothing listens there afterwards. */
async function withEndpoint(api: Client, receiver: Receiver, say: Say): Promise<Journey> {
  const { endpointId, secret } = orThrow(
    await api.post('/merchant/webhook/new_endpoint', {
      url: receiver.url,
      events: ['invoice.created', 'invoice.process', 'invoice.paid', 'payment.success'],
    }),
  );
  say(
    `Webhook endpoint ${endpointId} is registered at ${receiver.url}; the secret that signs it is ${secret.slice(0, 10)}…`,
  );
  try {
    return await travel(api, receiver, secret, say);
  } finally {
    orThrow(await api.post('/merchant/webhook/delete_endpoint', { endpointId }));
    say(`Webhook endpoint ${endpointId} is deleted again.`);
  }
}

async function travel(api: Client, receiver: Receiver, secret: string, say: Say): Promise<Journey> {
  const { gatewayId, currency, minimumAmount } = await wireGateway(api, say);
  const { product } = orThrow(await api.post('/merchant/product/new', { productName: 'Observatory' }));
  orThrow(await api.post('/merchant/product/activate', { productId: product.id }));
  const { plan } = orThrow(
    await api.post('/merchant/plan/new', {
      productId: product.id,
      planName: 'Pro',
      amount: 4900,
      currency,
      intervalUnit: 'month',
      intervalCount: 1,
    }),
  );
  orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
  say(`Product ${product.id} and plan ${plan.id} (${money(4900, currency)} a month) are active.`);
  const { user } = orThrow(
    await api.post('/merchant/user/new', {
      email: `ada-${randomUUID().slice(0, 8)}@example.com`,
      firstName: 'Ada',
    }),
  );
  say(`User ${user.id} exists.`);

  const order = {
    userId: user.id,
    gatewayId,
    currency,
    taxPercentage: 1900,
    lines: [
      { planId: plan.id, quantity: 1 },
      { name: 'Onboarding', unitAmountExcludingTax: Math.max(12_500, minimumAmount), quantity: 1 },
      { name: 'Welcome credit', unitAmountExcludingTax: -1_500, quantity: 1 },
    ],
  };
  const { invoice: draft } = orThrow(await api.post('/merchant/invoice/new', order));
  say(`Invoice ${draft.invoiceId} is a draft over ${money(draft.totalAmount, draft.currency)}, tax included.`);
  const { invoice } = orThrow(
    await api.post('/merchant/invoice/finish', { invoiceId: draft.invoiceId, daysUtilDue: 14 }),
  );
  say(`It is open as number ${invoice.number}, with payment ${invoice.paymentId}.`);
  orThrow(
    await api.post('/merchant/invoice/mark_wire_transfer_success', {
      invoiceId: invoice.invoiceId,
      transferNumber: 'SEPA-2026-0001',
    }),
  );
  const { paymentDetail } = orThrow(await api.get('/merchant/payment/detail', { paymentId: invoice.paymentId }));
  say('The wire transfer has arrived: the invoice is paid.');

  const mine = () => receiver.deliveries.filter(({ body }) => body.includes(invoice.invoiceId));
  await receiver.until(() => mine().some(delivery => typeOf(delivery) === 'invoice.paid') && mine().length >= 4);
  for (const { body, headers } of mine()) {
    const verified = await verifyWebhook({ body, headers, secrets: [secret] });
    if (!verified.ok) throw new Error(`a webhook is refused: ${verified.reason}`);
  }
  const webhooks = mine().map(typeOf);
  say(`Webhooks received, each signature verified: ${webhooks.join(', ')}.`);
  const refunded = await refundAThird(api, invoice, amount => money(amount, invoice.currency), say);
  return {
    productId: product.id,
    planId: plan.id,
    userId: user.id,
    invoice,
    paymentStatus: paymentDetail.payment.status,
    webhooks,
    refunded,
  };
}

/**
 * Sets up the wire-transfer gateway, or finds the one that the merchant has already, whatever its currency. Throws Failure
 * when it is archived: then no invoice can be paid through it.
 */
async function wireGateway(api: Client, say: Say): Promise<Gateway> {
  const bank = {
    accountHolder: 'Observatory Ltd',
    address: '1 Hill Road',
    iban: 'DE02120300000000202051',
    bic: 'BYLADEM1001',
  };
  const made = await api.post('/merchant/gateway/wire_transfer_setup', {
    currency: 'EUR',
    minimumAmount: 100,
    bank: JSON.stringify(bank),
  });
  if (made.ok) {
    say('The wire-transfer gateway is set up; the first gateway is the default.');
    return made.data.gateway;
  }
  if (made.error.type !== 'gateway_exists') throw new RecurError(made.error);
  const { gateways } = orThrow(await api.get('/merchant/gateway/list', {}));
  const wire = gateways.find(gateway => gateway.gatewayType === gatewayType.wireTransfer);
  if (!wire)
    throw new Failure('the wire-transfer gateway is archived, and the demo needs it: "npm run reset" starts over.');
  say(`The wire-transfer gateway was set up before, in ${wire.currency}.`);
  return wire;
}
