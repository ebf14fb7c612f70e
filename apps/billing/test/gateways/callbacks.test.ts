import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { gatewayCallback, invoiceStatus, setupGateway, setupGatewayWebhook } from '@recur/contracts';
import { LOG, type Log } from '@recur/platform';
import { http, type Listening } from '@recur/platform/testing';
import Stripe from 'stripe';
import { shop } from '../world/shop.js';

/** Rightly signed callbacks of Stripe as billing takes them, whatever is in them. */
let s: Awaited<ReturnType<typeof shop>>;
let server: Listening;
let gatewayId: number;
/** The answer of Stripe's API to whatever it is asked; undefined: none. */
let answer: { status: number; body: object } | undefined;
beforeAll(async () => {
  server = await http((request, response) => {
    if (answer === undefined) return request.socket.destroy();
    response.statusCode = answer.status;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer.body));
  });
  s = await shop(undefined, { STRIPE_URL: server.url });
  const { gateway } = await s.t.done(setupGateway, { gatewayName: 'stripe', gatewayKey: 'pk', gatewaySecret: 'sk' });
  gatewayId = gateway.gatewayId;
  await s.t.done(setupGatewayWebhook, { gatewayId, webhookSecret: 'whsec_1' });
});
afterAll(async () => {
  await s.t.close();
  await server.close();
});
afterEach(() => {
  jest.restoreAllMocks();
  answer = undefined;
});

async function receive(payload: string): Promise<{ ok: boolean; slug?: string; warned: unknown[] }> {
  const warn = jest.spyOn(s.t.app.get<Log>(LOG), 'warn');
  const timestamp = Math.floor(s.clock.wall() / 1000);
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: 'whsec_1', timestamp });
  const headers = { 'stripe-signature': signature };
  const input = { gatewayId, headers, base64: Buffer.from(payload).toString('base64') };
  const caller = s.t.callerOf({ merchantId: 0, actor: { kind: 'system', id: '', display: 'system' } });
  const { ok, bytes } = await s.t.server.dispatch(gatewayCallback.name, JSON.stringify(input), caller);
  const warned = warn.mock.calls.map(([what]) => what);
  warn.mockRestore();
  return { ok, ...JSON.parse(bytes.toString()), warned };
}

type Json = Record<string, unknown>;
const event = (type: string, object: Json): Json => ({
  id: `evt_${type}`,
  object: 'event',
  created: 1_700_000_000,
  type,
  data: { object },
});
const ours = { metadata: { recur_key: 'pay_unknown-1' } };
const events: Record<string, Json> = {
  charge: event('payment_intent.succeeded', {
    id: 'pi_1',
    status: 'succeeded',
    amount_received: 7033,
    amount_capturable: 0,
    currency: 'eur',
    ...ours,
  }),
  failure: event('payment_intent.payment_failed', {
    id: 'pi_1',
    status: 'requires_payment_method',
    ...ours,
    last_payment_error: { code: 'card_declined', decline_code: 'lost_card' },
  }),
  question: event('payment_intent.requires_action', {
    id: 'pi_1',
    status: 'requires_action',
    ...ours,
    next_action: { redirect_to_url: { url: 'https://hooks.stripe.com/3ds' } },
  }),
  refund: event('refund.failed', { id: 're_1', status: 'failed', failure_reason: 'expired_card', ...ours }),
  dispute: event('charge.dispute.closed', { status: 'lost', payment_intent: 'pi_1', amount: 500, currency: 'eur' }),
  setup: event('setup_intent.succeeded', { customer: 'cus_1', payment_method: 'pm_1' }),
};
const odd = [undefined, null, -1, 1.5, 1e300, '', 'x', '\0', '\ud800', 'x'.repeat(9_000), true, {}, [], [1], { id: 1 }];

/** The event with the field at `path` replaced. */
function changed(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
  if (name === undefined) return by;
  const object = value as Json;
  return { ...object, [name]: changed(object[name], rest, by) };
}
const pathsIn = (value: unknown, above: readonly string[] = []): (readonly string[])[] =>
  typeof value !== 'object' || value === null
    ? [above]
    : [above, ...Object.entries(value).flatMap(([name, member]) => pathsIn(member, [...above, name]))];

async function charged(key = 'update payments set outcome = $2, attempt = 1, sent_time = $3 where payment_id = $1') {
  s.knowUser(1);
  const { invoiceId, paymentId } = await s.made({ userId: 1, gatewayId, finish: true });
  await s.t.rows(key, [paymentId, 'sending', s.clock.now()]);
  return { invoiceId, paymentId };
}

describe('a rightly signed callback', () => {
  it.each(Object.keys(events))('about a %s is answered with success, whatever is wrong with any field', async name => {
    answer = { status: 200, body: { id: 'pm_1', type: 'card', card: null } };
    const { paymentId } = await charged();
    const known = JSON.parse(JSON.stringify(events[name]).replace('pay_unknown', paymentId));
    expect(await receive(JSON.stringify(known))).toMatchObject({ ok: true, warned: [] });
    const refused: unknown[] = [];
    for (const path of pathsIn(known)) {
      for (const by of odd) {
        const { ok } = await receive(JSON.stringify(changed(known, path, by)) ?? '');
        // no body is no signed callback
        if (!ok && !(path.length === 0 && by === undefined)) refused.push([path.join('.'), by]);
      }
    }
    expect(refused).toEqual([]);
  });

  it.each([
    ['no JSON', '{"id":', { event: '', type: '' }],
    ['no event', '[]', { event: '', type: '' }],
    [
      'negative',
      JSON.stringify(changed(events.dispute, ['data', 'object', 'amount'], -5)),
      { event: 'evt_charge.dispute.closed', type: 'charge.dispute.closed' },
    ],
    [
      'in a currency that there is not',
      JSON.stringify(changed(events.dispute, ['data', 'object', 'currency'], 'xxq')),
      { event: 'evt_charge.dispute.closed', type: 'charge.dispute.closed' },
    ],
  ])('that is %s is logged by its id and type', async (_, payload, logged) => {
    const { ok, warned } = await receive(payload);
    expect([ok, warned]).toEqual([true, [expect.objectContaining({ gatewayId, ...logged })]]);
  });

  it('of no interest is not looked into, and an unknown status is not known yet', async () => {
    expect(await receive('{"id":"evt_2","type":"customer.created","created":1}')).toMatchObject({
      ok: true,
      warned: [],
    });
    const { invoiceId, paymentId } = await charged();
    const object = { id: 'pi_3', status: 'from_the_future', metadata: { recur_key: `${paymentId}-1` } };
    const unknown = event('payment_intent.processing', object);
    expect(await receive(JSON.stringify(unknown))).toMatchObject({ ok: true, warned: [] });
    expect(await s.detail(invoiceId)).toMatchObject({ status: invoiceStatus.processing });
  });

  it('is refused while recur cannot take it, so that the gateway repeats it', async () => {
    const { invoiceId, paymentId } = await charged();
    const object = {
      id: 'pi_2',
      status: 'succeeded',
      amount_received: 7033,
      currency: 'eur',
      metadata: { recur_key: `${paymentId}-1` },
    };
    const payload = JSON.stringify({ ...event('payment_intent.succeeded', object), id: 'evt_late' });
    jest.spyOn(s.t.db, 'write').mockRejectedValueOnce(new Error('the database is away'));
    expect(await receive(payload)).toMatchObject({ ok: false, warned: [] });
    expect(await receive(payload)).toMatchObject({ ok: true });
    expect(await s.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid });
    // Stripe has to be asked for the method
    expect(await receive(JSON.stringify(events.setup))).toMatchObject({ ok: false, slug: 'dependency_away' });
    answer = { status: 404, body: { error: { type: 'invalid_request_error', code: 'resource_missing' } } };
    expect(await receive(JSON.stringify(events.setup))).toMatchObject({
      ok: true,
      warned: [{ event: events.setup?.id }],
    });
  });
});
