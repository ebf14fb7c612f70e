import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  gatewayCallback,
  type In,
  invoiceStatus,
  newPayment,
  paymentStatus,
  refundInvoice,
  sandboxQuestion,
  wrongSignature,
} from '@recur/contracts';
import type { GatewayOutcome } from '../../src/gateways/adapters/adapter.js';
import { SANDBOX_CALLBACK, Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
});
afterAll(() => c.t.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const paid = { status: invoiceStatus.paid, payment: { status: paymentStatus.success } };

/** Delivers a callback as the gateway app does. */
async function call(input: In<typeof gatewayCallback>): Promise<{ ok: boolean; slug?: string }> {
  const caller = c.t.callerOf({ merchantId: 0, actor: { kind: 'system', id: '', display: 'system' } });
  const { ok, bytes } = await c.t.server.dispatch(gatewayCallback.name, JSON.stringify(input), caller);
  return { ok, ...JSON.parse(bytes.toString()) };
}
/** The callbacks that the sandbox has planned, as its requests. */
async function planned(gatewayId = c.gatewayId): Promise<In<typeof gatewayCallback>[]> {
  const due = await c.sandbox.dueCallbacks(c.account);
  return due.map(({ headers, body }) => ({ gatewayId, headers, base64: Buffer.from(body).toString('base64') }));
}
const made = async (scenario: string) => {
  const { invoiceId, paymentId } = await c.billed(await c.userWithCard(scenario));
  return { invoiceId, paymentId };
};
const once = async (invoiceId: string) => {
  expect(await c.detail(invoiceId)).toMatchObject(paid);
  expect(await c.moneyOf(invoiceId)).toBe(1);
  expect((await c.paymentsOf(invoiceId)).filter(({ status }) => status === 'success')).toHaveLength(1);
};

describe('a worker that ends', () => {
  /** Leaves the attempt as a worker does that is killed after it has claimed it, `secondsAgo`. */
  const claimed = async (paymentId: string, secondsAgo: number) => {
    await c.t.rows(`update payments set outcome = 'sending', attempt = 1, sent_time = $2 where payment_id = $1`, [
      paymentId,
      c.clock.now() - secondsAgo,
    ]);
  };
  const charge = (paymentId: string, gatewayMethodId = 'succeeds') =>
    c.sandbox.charge(c.account, {
      idempotencyKey: `${paymentId}-1`,
      paymentId,
      amount: 7_033n,
      currency: 'EUR',
      gatewayMethodId,
      gatewayUserId: '',
      offSession: true,
      returnUrl: '',
      manualCapture: false,
    });

  it('between claim and call: the gateway has seen nothing, and it is sent as the next attempt', async () => {
    const { invoiceId, paymentId } = await made('succeeds');
    await claimed(paymentId, 100);
    await c.drain();
    await once(invoiceId);
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ attempt: 2, outcome: '' }]);
  });

  it('between call and record: the gateway tells what it has done, and nothing is sent again', async () => {
    const { invoiceId, paymentId } = await made('succeeds');
    await claimed(paymentId, 100);
    await charge(paymentId);
    const sent = jest.spyOn(c.sandbox, 'charge');
    await c.drain();
    expect(sent).not.toHaveBeenCalled();
    await once(invoiceId);
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ attempt: 1 }]);
  });

  it('a moment ago: its request may still arrive, so nothing is sent before that is certain', async () => {
    const { invoiceId, paymentId } = await made('succeeds');
    await claimed(paymentId, 1);
    await c.drain();
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ outcome: 'unknown', attempt: 1 }]);
    await charge(paymentId);
    await c.pass(600);
    await once(invoiceId);
  });

  it.each(['before', 'after'])('by an exception %s the call: the item is done again, and charges once', async when => {
    const { invoiceId } = await made('succeeds');
    const real = c.sandbox.charge.bind(c.sandbox);
    const failing = async (...args: Parameters<Sandbox['charge']>): Promise<GatewayOutcome> => {
      if (when === 'after') await real(...args);
      throw new Error('the worker has ended');
    };
    jest.spyOn(c.sandbox, 'charge').mockImplementationOnce(failing);
    await c.drain();
    await c.pass(1_200);
    await once(invoiceId);
  });

  it('is replaced by another replica, and four of them charge each invoice once', async () => {
    const invoices = await Promise.all(Array.from({ length: 24 }, () => made('succeeds')));
    const replicas = [c.t, await c.t.replica(), await c.t.replica(), await c.t.replica()];
    await Promise.all(replicas.map(({ work }) => work.drain()));
    for (const { invoiceId } of invoices) await once(invoiceId);
  });
});

describe('callbacks', () => {
  it('are refused for an unknown gateway as with a wrong signature, so that ids cannot be told apart', async () => {
    await made('succeeds');
    const sent = jest.spyOn(c.sandbox, 'charge');
    await c.drain();
    expect(sent).toHaveBeenCalled();
    const headers = { 'sandbox-signature': 'x' };
    const refused = await call({ gatewayId: c.gatewayId, headers, base64: 'e30=' });
    expect(refused).toMatchObject({ ok: false, slug: 'credential_invalid', message: wrongSignature });
    for (const gatewayId of [c.gatewayId, c.gateway.gatewayId, 999_999]) {
      for (const [sent, base64] of [
        [headers, ''],
        [headers, Buffer.alloc(900 * 1_024, '{').toString('base64')],
        [{}, 'e30='],
      ] as const) {
        expect(await call({ gatewayId, headers: sent, base64 })).toEqual(refused);
      }
    }
  });

  it('before the answer pay at once, and the answer changes nothing', async () => {
    const { invoiceId } = await made('succeeds');
    const real = c.sandbox.charge.bind(c.sandbox);
    jest.spyOn(c.sandbox, 'charge').mockImplementationOnce(async (...args) => {
      const outcome = await real(...args);
      for (const callback of await planned()) expect(await call(callback)).toMatchObject({ ok: true });
      expect(await c.detail(invoiceId)).toMatchObject(paid);
      return outcome;
    });
    await c.t.emitted();
    await c.drain();
    await once(invoiceId);
    const types = (await c.t.emitted()).filter(({ data }) => JSON.stringify(data).includes(invoiceId));
    expect(types.map(({ type }) => type)).toEqual(['payment.success', 'invoice.paid', 'operation.logged']);
  });

  it('may be 900 KiB, and pay', async () => {
    const { invoiceId } = await c.charged('calls_back_late');
    await c.t.rows(`delete from due_work where kind in ('sandbox.callback', 'payment.reconcile')`);
    c.clock.advance(3_600);
    const [callback] = (await planned()).slice(-1);
    const text = Buffer.from(callback?.base64 ?? '', 'base64')
      .toString()
      .padEnd(900 * 1_024);
    const headers = { 'sandbox-signature': c.t.keyring.sign(SANDBOX_CALLBACK, text) };
    const large = { gatewayId: c.gatewayId, headers, base64: Buffer.from(text).toString('base64') };
    expect(await call(large)).toMatchObject({ ok: true });
    await once(invoiceId);
  });

  it('64 of them at once pay once, and leave one fact', async () => {
    const { invoiceId } = await c.charged('calls_back_late');
    await c.t.rows(`delete from due_work where kind in ('sandbox.callback', 'payment.reconcile')`);
    c.clock.advance(3_600);
    const [callback] = (await planned()).slice(-1);
    if (!callback) throw new Error('no callback is planned');
    await c.t.emitted();
    const facts = async () => Number((await c.t.rows('select count(*) as n from gateway_facts'))[0]?.n);
    const before = await facts();
    const answers = await Promise.all(Array.from({ length: 64 }, () => call(callback)));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    await once(invoiceId);
    expect((await facts()) - before).toBe(1);
    expect((await c.t.emitted()).filter(({ type }) => type === 'operation.logged')).toHaveLength(1);
    expect(await c.t.rows('select 1 from payment_surpluses where invoice_id = $1', [invoiceId])).toEqual([]);
  });
});

describe('the page of the sandbox', () => {
  const ask = async (input: In<typeof sandboxQuestion>) => {
    const caller = c.t.callerOf({ merchantId: 0 });
    const { bytes } = await c.t.server.dispatch(sandboxQuestion.name, JSON.stringify(input), caller);
    return JSON.parse(bytes.toString());
  };

  it('asks the user of a charge that needs action, and takes one answer', async () => {
    const { invoiceId, invoice } = await c.charged('needs_action');
    const reference = String(invoice.payment?.gatewayPaymentId);
    expect(invoice.payment?.link).toMatch(new RegExp(`/gateway/${c.gatewayId}/sandbox/${reference}$`));
    const which = { gatewayId: c.gatewayId, reference };
    expect(await ask(which)).toEqual({ state: 'open', amount: 7_033, currency: 'EUR' });
    expect(await ask({ ...which, answer: 'approve' })).toMatchObject({ state: 'approved' });
    expect(await ask({ ...which, answer: 'decline' })).toMatchObject({ state: 'approved' });
    await c.drain();
    await once(invoiceId);
    expect(await ask({ ...which, reference: 'sbx_none' })).toMatchObject({ slug: 'payment_not_found' });
    for (const gatewayId of [999_999, c.gateway.gatewayId]) {
      expect(await ask({ ...which, gatewayId })).toMatchObject({ slug: 'gateway_not_found' });
    }
  });
});

describe('64 equal calls at once', () => {
  it('of payment/new open one payment, which is charged once', async () => {
    const { invoiceId, userId } = await c.charged('declines_hard');
    c.clock.advance(1);
    await c.t.rows(`delete from payment_methods where user_id = $1`, [userId]);
    await c.card(userId, 'succeeds');
    await c.t.rows(`delete from due_work where kind = 'payment.method_added'`);
    const calls = Array.from({ length: 64 }, () => c.t.call(newPayment, { invoiceId, gatewayId: c.gatewayId }));
    const answers = await Promise.all([...calls, c.drain(), c.drain()]);
    expect(answers.filter(answer => answer?.ok)).toHaveLength(1);
    await c.drain();
    await once(invoiceId);
  });

  it('of invoice/refund give back no more than was paid', async () => {
    const { invoiceId } = await c.charged('succeeds');
    const refund = () => c.t.call(refundInvoice, { invoiceId, refundAmount: 3_000, reason: '' });
    const answers = await Promise.all(Array.from({ length: 64 }, refund));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(2);
    await c.drain();
    const made = await c.t.rows(
      `select sum(r.amount) as sum from sandbox_charges r join payments p on p.gateway_payment_id = r.charge_reference
        where p.invoice_id = $1 and r.kind = 'refund' and r.state = 'succeeded'`,
      [invoiceId],
    );
    expect(made).toEqual([{ sum: '6000' }]);
  });
});
