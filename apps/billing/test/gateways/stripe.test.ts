import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { http, type Listening } from '@recur/platform/testing';
import Stripe from 'stripe';
import type { ChargeRequest, GatewayAccount } from '../../src/gateways/adapters/adapter.js';
import { StripeGateway } from '../../src/gateways/adapters/stripe.js';
import { fromStripe, toStripe } from '../../src/gateways/adapters/stripe-answers.js';

interface Asked {
  call: string;
  body: Record<string, string>;
  key: string;
  version: string;
}
type Answered = { status?: number; body: unknown } | 'hang up';

let server: Listening;
let stripe: StripeGateway;
let answers: Answered[] = [];
let asked: Asked[] = [];
beforeAll(async () => {
  server = await http((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const body = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
      const key = String(headers['idempotency-key'] ?? '');
      asked.push({ call: `${method} ${url?.split('?')[0]}`, body, key, version: String(headers['stripe-version']) });
      const answer = answers.shift() ?? { status: 404, body: { error: { type: 'invalid_request_error' } } };
      if (answer === 'hang up') return request.socket.destroy();
      response.statusCode = answer.status ?? 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer.body));
    });
  });
  const { hostname: host, port } = new URL(server.url);
  stripe = new StripeGateway('https://portal.example.com', { host, port: Number(port), protocol: 'http' });
});
afterAll(() => server.close());
beforeEach(() => {
  answers = [];
  asked = [];
});

const account: GatewayAccount = {
  merchantId: 1,
  gatewayId: 7,
  key: 'pk_1',
  secret: 'sk_1',
  webhookSecret: 'whsec_1',
};
const charge: ChargeRequest = {
  idempotencyKey: 'pay_1-1',
  paymentId: 'pay_1',
  amount: 1200n,
  currency: 'EUR',
  gatewayMethodId: 'pm_1',
  gatewayUserId: 'cus_1',
  offSession: true,
  returnUrl: '',
  manualCapture: false,
};
const intent = (status: string, over: object = {}) => ({
  id: 'pi_1',
  object: 'payment_intent',
  amount: 1200,
  currency: 'eur',
  status,
  customer: 'cus_1',

  amount_received: status === 'succeeded' ? 1200 : 0,
  amount_capturable: status === 'requires_capture' ? 1200 : 0,
  metadata: { recur_key: 'pay_1-1' },
  last_payment_error: null,
  next_action: null,
  ...over,
});
const received = { is: 'succeeded', reference: 'pi_1', amount: 1200n, currency: 'EUR' };
const failure = (status: number, error: object) => ({ status, body: { error } });

describe('charging through Stripe', () => {
  it('confirms a payment intent under the key of the attempt, by a pinned version', async () => {
    answers = [{ body: intent('succeeded') }];
    expect(await stripe.charge(account, charge)).toEqual(received);
    expect(asked).toMatchObject([{ call: 'POST /v1/payment_intents', key: 'pay_1-1', version: '2026-10-28.endive' }]);
    expect(asked[0]?.body).toMatchObject({
      amount: '1200',
      currency: 'eur',
      customer: 'cus_1',
      payment_method: 'pm_1',
      confirm: 'true',
      off_session: 'true',
      'metadata[recur_key]': 'pay_1-1',
    });
  });

  it('tells declines, questions and failures apart', async () => {
    const declined = (decline_code: string) =>
      failure(402, { type: 'card_error', code: 'card_declined', decline_code, payment_intent: { id: 'pi_1' } });
    answers = [declined('insufficient_funds'), declined('stolen_card')];
    const soft = { is: 'declined', kind: 'soft', reason: 'insufficient_funds', reference: 'pi_1' };
    expect(await stripe.charge(account, charge)).toEqual(soft);
    expect(await stripe.charge(account, charge)).toMatchObject({ kind: 'hard', reason: 'stolen_card' });
    const link = 'https://hooks.stripe.com/3ds';
    answers = [{ body: intent('requires_action', { next_action: { redirect_to_url: { url: link } } }) }];
    expect(await stripe.charge(account, charge)).toEqual({ is: 'needsAction', link, reference: 'pi_1' });
    answers = [failure(402, { type: 'card_error', code: 'authentication_required', payment_intent: { id: 'pi_1' } })];
    expect(await stripe.charge(account, charge)).toEqual({ is: 'needsAction', link: '', reference: 'pi_1' });
    answers = [failure(401, { type: 'invalid_request_error', message: 'Invalid API Key' })];
    expect(await stripe.charge(account, charge)).toMatchObject({ is: 'declined', kind: 'soft' });
    answers = ['hang up', 'hang up'];
    expect(await stripe.charge(account, charge)).toEqual({ is: 'unknown', reference: '' });
    expect(asked.slice(-2).map(({ key }) => key)).toEqual(['pay_1-1', 'pay_1-1']);
  });

  it('finds a charge whose answer was lost by its key, or says that there is none', async () => {
    const ref = { idempotencyKey: 'pay_1-1', reference: '', gatewayUserId: 'cus_1', sentAt: 1000 };
    const list = (...data: object[]) => ({
      body: { object: 'list', data, has_more: false, url: '/v1/payment_intents' },
    });
    answers = [list(intent('processing', { metadata: {} }), intent('succeeded')), list()];
    expect(await stripe.status(account, ref)).toEqual(received);
    expect(await stripe.status(account, ref)).toEqual({ is: 'absent' });
    answers = [{ body: intent('processing') }];
    expect(await stripe.status(account, { ...ref, reference: 'pi_1' })).toMatchObject({ is: 'unknown' });
  });

  it('takes a refused inquiry for no answer, and a refused key for a decline that may pass', async () => {
    const lost = { idempotencyKey: 'pay_1-1', reference: 'pi_1', gatewayUserId: 'cus_1', sentAt: 1_000 };
    const revoked = failure(401, { type: 'authentication_error', code: 'api_key_expired' });
    answers = [revoked, revoked];
    expect(await stripe.status(account, lost)).toEqual({ is: 'unknown', reference: '' });
    expect(await stripe.charge(account, charge)).toMatchObject({ is: 'declined', kind: 'soft' });
  });

  it('finds a refund whose answer was lost, by its id or by its key', async () => {
    const refund = (over: object = {}) => ({
      id: 're_9',
      object: 'refund',
      status: 'pending',
      amount: 100,
      currency: 'eur',
      failure_reason: null,
      metadata: { recur_key: 're_1' },
      ...over,
    });
    const list = (data: object[]) => ({ body: { object: 'list', url: '/v1/refunds', has_more: false, data } });
    const request = { idempotencyKey: 're_1', refundId: 're_1', reference: 'pi_1', amount: 100n, currency: 'EUR' };
    answers = [
      { body: refund({ status: 'succeeded' }) },
      list([refund()]),
      list([refund({ metadata: {} })]),
      'hang up',
      'hang up',
    ];
    expect(await stripe.refundStatus(account, request, 're_9')).toEqual({
      ...received,
      reference: 're_9',
      amount: 100n,
    });
    expect(await stripe.refundStatus(account, request, '')).toEqual({ is: 'unknown', reference: 're_9' });
    expect(await stripe.refundStatus(account, request, '')).toEqual({ is: 'absent' });
    expect(await stripe.refundStatus(account, request, '')).toEqual({ is: 'unknown', reference: '' });
    expect(asked.slice(0, 2).map(({ call }) => call)).toEqual(['GET /v1/refunds/re_9', 'GET /v1/refunds']);
  });

  it('captures, cancels and refunds', async () => {
    answers = [{ body: intent('requires_capture') }, { body: intent('succeeded') }, { body: intent('canceled') }];
    expect(await stripe.charge(account, { ...charge, manualCapture: true })).toMatchObject({ is: 'authorised' });
    const move = { idempotencyKey: 'k', reference: 'pi_1', amount: 700n, currency: 'EUR' };
    expect(await stripe.capture(account, move)).toMatchObject({ is: 'succeeded' });
    expect(await stripe.cancel(account, 'pi_1')).toMatchObject({ is: 'cancelled' });
    answers = [{ body: { id: 're_1', object: 'refund', status: 'pending', failure_reason: null } }];
    expect(await stripe.refund(account, { ...move, refundId: 're_9' })).toEqual({ is: 'unknown', reference: 're_1' });
    expect(asked.slice(1).map(({ call }) => call)).toEqual([
      'POST /v1/payment_intents/pi_1/capture',
      'POST /v1/payment_intents/pi_1/cancel',
      'POST /v1/refunds',
    ]);
    expect(asked.at(-1)).toMatchObject({ key: 'k', body: { payment_intent: 'pi_1', amount: '700' } });
  });
});

describe('payment methods at Stripe', () => {
  const method = { id: 'pm_1', object: 'payment_method', type: 'card' };
  const card = { brand: 'visa', last4: '4242', exp_month: 1, exp_year: 2030 };
  const request = { idempotencyKey: 'm', userId: 1, email: 'a@example.com', gatewayUserId: '', data: {} };

  it('are set up for a customer, or entered on a page', async () => {
    answers = [
      { body: { id: 'cus_1', object: 'customer' } },
      { body: { id: 'seti_1', object: 'setup_intent', status: 'succeeded' } },
      { body: { ...method, card } },
    ];
    expect(await stripe.saveMethod(account, { ...request, data: { paymentMethodId: 'pm_1' } })).toEqual({
      is: 'saved',
      gatewayUserId: 'cus_1',
      method: {
        gatewayMethodId: 'pm_1',
        type: 'card',
        data: { brand: 'visa', last4: '4242', expMonth: 1, expYear: 2030 },
      },
    });
    answers = [{ body: { id: 'cs_1', object: 'checkout.session', url: 'https://checkout.stripe.com/c' } }];
    const page = { is: 'page', gatewayUserId: 'cus_1', url: 'https://checkout.stripe.com/c' };
    expect(await stripe.saveMethod(account, { ...request, gatewayUserId: 'cus_1' })).toEqual(page);
    answers = [failure(402, { type: 'card_error', code: 'card_declined', decline_code: 'stolen_card' })];
    expect(
      await stripe.saveMethod(account, { ...request, gatewayUserId: 'cus_1', data: { paymentMethodId: 'pm_1' } }),
    ).toEqual({ is: 'refused', reason: 'stolen_card' });
  });
});

describe('callbacks of Stripe', () => {
  const now = 1_800_000_000;
  const event = (type: string, object: object) =>
    JSON.stringify({ id: 'evt_1', object: 'event', created: now - 5, type, data: { object } });
  const signed = (payload: string, secret = 'whsec_1', timestamp = now) => ({
    'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }),
  });
  const read = (payload: string) => stripe.callback(account, signed(payload), Buffer.from(payload), now);

  it('are read only with a fresh, right signature', async () => {
    const payload = event('payment_intent.succeeded', intent('succeeded'));
    expect(await read(payload)).toEqual([
      {
        about: 'charge',
        id: 'evt_1',
        at: now - 5,
        idempotencyKey: 'pay_1-1',
        outcome: received,
      },
    ]);
    const bytes = Buffer.from(payload);
    expect(await stripe.callback(account, signed(payload, 'other'), bytes, now)).toBeUndefined();
    expect(await stripe.callback(account, signed(payload, 'whsec_1', now - 301), bytes, now)).toBeUndefined();
    expect(await stripe.callback(account, signed(payload), Buffer.from(`${payload} `), now)).toBeUndefined();
    expect(await stripe.callback(account, {}, bytes, now)).toBeUndefined();
  });

  it('report refunds and disputes; others are of no interest', async () => {
    const refund = { id: 're_1', status: 'succeeded', amount: 5, currency: 'kwd', metadata: { recur_key: 're_9-1' } };
    expect(await read(event('refund.updated', refund))).toMatchObject([
      { about: 'refund', idempotencyKey: 're_9-1', outcome: { is: 'succeeded', amount: 5n, currency: 'KWD' } },
    ]);
    const dispute = { id: 'dp_1', status: 'lost', payment_intent: 'pi_1', amount: 500, currency: 'jpy' };
    expect(await read(event('charge.dispute.closed', dispute))).toMatchObject([
      { about: 'dispute', reference: 'pi_1', state: 'lost', amount: 500n, currency: 'JPY' },
    ]);
    expect(await read(event('payment_intent.succeeded', intent('succeeded', { metadata: {} })))).toEqual([]);
    expect(await read(event('customer.created', { id: 'cus_1' }))).toEqual([]);
  });
});

describe('money that Stripe states', () => {
  const said = async (over: object, status = 'succeeded') => {
    answers = [{ body: intent(status, over) }];
    return stripe.charge(account, charge);
  };

  it('is what was received or reserved, in the currency of the intent, whatever was asked for', async () => {
    expect(await said({ amount_received: 1, currency: 'jpy' })).toEqual({ ...received, amount: 1n, currency: 'JPY' });
    expect(await said({ amount_received: 50_000, currency: 'isk' })).toMatchObject({ amount: 500n, currency: 'ISK' });
    expect(await said({ amount_capturable: 700 }, 'requires_capture')).toEqual({
      is: 'authorised',
      reference: 'pi_1',
      amount: 700n,
      currency: 'EUR',
    });
  });

  it('is none without an amount in a known currency: the gateway is asked again', async () => {
    const unsaid = { is: 'unknown', reference: 'pi_1' };
    const odd = [
      { amount_received: null },
      { amount_received: 1.5 },
      { amount_received: 1e30 },
      { amount_received: '5' },
    ];
    for (const over of [...odd, { currency: 'zzz' }, { currency: null }, { currency: '' }]) {
      expect(await said(over)).toEqual(unsaid);
    }
    expect(await said({ currency: 'zzz' }, 'requires_capture')).toEqual(unsaid);
  });
});

describe('amounts', () => {
  it.each([
    ['EUR', 1999n, 1999],
    ['JPY', 500n, 500],
    ['ISK', 500n, 50_000],
    ['UGX', 500n, 50_000],
    ['KWD', 1230n, 1230],
    ['MGA', 1200n, 12],
  ])('of %s are those of Stripe', (currency, amount, shown) => {
    expect(toStripe(amount, currency)).toBe(shown);
    expect(fromStripe(shown, currency)).toBe(amount);
  });

  it('that Stripe cannot express are not charged', async () => {
    expect([toStripe(1250n, 'MGA'), toStripe(1234n, 'KWD')]).toEqual([undefined, undefined]);
    const outcome = await stripe.charge(account, { ...charge, amount: 1234n, currency: 'KWD' });
    expect(outcome).toMatchObject({ is: 'declined', kind: 'hard', reason: 'amount_not_expressible' });
    expect(asked).toEqual([]);
  });
});
