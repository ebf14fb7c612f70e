import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient, orThrow } from '@recur/client';
import type { Say } from '../local/progress.js';

const PAID = 20;

/**
 * A card payment that its bank asks about, through HTTP only: an open invoice is charged by itself, the user answers on the
 * page of the sandbox gateway, and the invoice is paid. Repeatable on the same merchant. Returns the invoice's id.
 */
export async function cardJourney(baseUrl: string, apiKey: string, say: Say): Promise<string> {
  const api = createClient({ baseUrl, credential: apiKey });
  const gatewayId = await sandboxGateway(api);
  say('The sandbox gateway charges test cards; no money moves.');
  const email = `card-${randomUUID().slice(0, 8)}@example.com`;
  const { user } = orThrow(await api.post('/merchant/user/new', { email }));
  const data = { scenario: 'needs_action' };
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId: user.id, data }));
  say(`User ${user.id} has saved a card whose bank asks the user about each charge.`);
  const { invoice } = orThrow(
    await api.post('/merchant/invoice/new', {
      userId: user.id,
      gatewayId,
      currency: 'EUR',
      taxPercentage: 1900,
      finish: true,
      lines: [{ name: 'Workshop', unitAmountExcludingTax: 9_900 }],
    }),
  );
  const payment = async () => {
    const { paymentId } = invoice;
    return orThrow(await api.get('/merchant/payment/detail', { paymentId })).paymentDetail.payment;
  };
  const { link } = await until(payment, ({ link }) => link.includes('/sandbox/'));
  say(`Invoice ${invoice.invoiceId} was charged when it was finished. The bank asks on ${link}`);
  await fetch(link, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
  await until(payment, ({ status }) => status === PAID);
  say('The user has approved the payment there: the invoice is paid.');
  return invoice.invoiceId;
}

/** The merchant's sandbox gateway, set up now or before. */
export async function sandboxGateway(api: Client): Promise<number> {
  const gateways = async () => orThrow(await api.get('/merchant/gateway/list', {})).gateways;
  const find = async () => (await gateways()).find(({ gatewayName }) => gatewayName === 'sandbox')?.gatewayId;
  const known = await find();
  if (known !== undefined) return known;
  orThrow(await api.post('/merchant/gateway/setup', { gatewayName: 'sandbox' }));
  return (await find()) ?? 0;
}

const polling = { everyMs: 100, timeoutMs: 120_000 } as const;

/** Asks until the answer is what is waited for. Throws Error where it does not become that in time. */
export async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + polling.timeoutMs; Date.now() < deadline; await pause(polling.everyMs)) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
  }
  throw new Error('what was waited for did not happen in time');
}
