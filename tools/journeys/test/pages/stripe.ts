import type { IncomingMessage } from 'node:http';
import { http } from '@recur/platform/testing';

/** Test cards of Stripe, named by what comes of them: https://docs.stripe.com/testing */
export const cards = {
  succeeds: '4242424242424242',
  refusedWhenSaved: '4000000000000002',
  declinedWhenCharged: '4000000000000341',
  asksWhenSaved: '4000002500003155',
  /** Refused at the first request to save it, and saved at the next one under another key. */
  refusedAtFirst: '4000000000000119',
} as const;

export const publishableKey = 'pk_test_pages';

interface Answer {
  status: number;
  body: object;
}
type Params = Readonly<Record<string, string>>;

/**
 * Stands in for the API of Stripe, as far as cards are saved and charged by it. A request with a known idempotency key gets
 * the answer that it got.
 */
export async function startStripe() {
  const numbers = new Map<string, string>();
  const users = new Map<string, number>();
  const charges: { userId: number; last4: string; isPaid: boolean }[] = [];
  const answers = new Map<string, Answer>();
  const refusedBefore = new Set<string>();
  let made = 0;
  const newId = (prefix: string) => `${prefix}_stand${++made}`;
  const fine = (body: object): Answer => ({ status: 200, body });
  const refused = (decline_code: string, more: object = {}): Answer => ({
    status: 402,
    body: { error: { type: 'card_error', code: 'card_declined', decline_code, ...more } },
  });
  const of = (id = '') => numbers.get(id) ?? '';
  const methodOf = (id: string) => {
    const card = { brand: 'visa', last4: of(id).slice(-4), exp_month: 12, exp_year: 2050 };
    return { id, object: 'payment_method', type: 'card', card };
  };
  const operations: Readonly<Record<string, (params: Params, id: string) => Answer>> = {
    'POST customers': params => {
      const id = newId('cus');
      users.set(id, Number(params['metadata[recur_user]']));
      return fine({ id, object: 'customer' });
    },
    'POST setup_intents': ({ payment_method: method = '' }) => {
      const number = of(method);
      if (number === cards.refusedAtFirst && !refusedBefore.has(method)) {
        refusedBefore.add(method);
        return refused('processing_error');
      }
      if (number === cards.refusedWhenSaved) return refused('generic_decline');
      const asks = {
        type: 'redirect_to_url',
        redirect_to_url: { url: 'https://hooks.stripe.com/redirect/authenticate' },
      };
      const isAsked = number === cards.asksWhenSaved;
      const status = isAsked ? 'requires_action' : 'succeeded';
      return fine({ id: newId('seti'), object: 'setup_intent', status, next_action: isAsked ? asks : null });
    },
    'POST checkout': () =>
      fine({ id: newId('cs'), object: 'checkout.session', url: 'https://checkout.stripe.com/c/pay' }),
    'GET payment_methods': (_, id) => fine(methodOf(id)),
    'POST payment_intents': ({ customer = '', payment_method: method, amount, currency, ...rest }) => {
      const id = newId('pi');
      const number = of(method);
      const isPaid = number !== cards.declinedWhenCharged;
      charges.push({ userId: users.get(customer) ?? 0, last4: number.slice(-4), isPaid });
      if (!isPaid) return refused('insufficient_funds', { payment_intent: { id } });
      const metadata = { recur_key: rest['metadata[recur_key]'] };
      const money = { amount: Number(amount), amount_received: Number(amount), currency };
      return fine({ id, object: 'payment_intent', status: 'succeeded', ...money, metadata });
    },
  };
  const server = await http(async (request, response) => {
    const params = await paramsOf(request);
    const [, kind = '', id = ''] = /^\/v1\/(\w+)\/?(\w*)/.exec(request.url ?? '') ?? [];
    const key = String(request.headers['idempotency-key'] ?? '');
    const unknown: Answer = { status: 404, body: { error: { type: 'invalid_request_error', message: 'unknown' } } };
    const answer = answers.get(key) ?? operations[`${request.method} ${kind}`]?.(params, id) ?? unknown;
    if (key) answers.set(key, answer);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
  return {
    url: server.url,
    close: () => server.close(),
    /** Keeps a card that was typed into the fields of a page, as Stripe's script asks it to. */
    keep(number: string) {
      const id = newId('pm');
      numbers.set(id, number);
      return methodOf(id);
    },
    /** Ids of the cards that were typed into the fields. */
    kept: () => [...numbers.keys()],
    /** Charges of a user, in order: the last digits of the card, and whether it was paid. */
    chargesOf: (userId: number) =>
      charges.filter(charge => charge.userId === userId).map(({ last4, isPaid }) => [last4, isPaid]),
  };
}
export type StandInStripe = Awaited<ReturnType<typeof startStripe>>;

async function paramsOf(request: IncomingMessage): Promise<Params> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
}
