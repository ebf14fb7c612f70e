import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { invoiceStatus, paymentStatus } from '@recur/contracts';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
});
afterAll(() => c.t.close());
beforeEach(() => c.t.emitted());

const hour = 3_600;
const paid = { status: invoiceStatus.paid, payment: { status: paymentStatus.success } };
const open = { status: invoiceStatus.processing };

describe('a finished invoice on a card gateway', () => {
  it('is charged without a call, and paid', async () => {
    const userId = await c.userWithCard('succeeds');
    const { invoiceId, paymentId, payment } = await c.billed(userId);
    expect(payment).toMatchObject({ status: paymentStatus.created, autoCharge: true, automatic: 1 });
    await c.t.emitted();
    await c.drain();
    const invoice = await c.detail(invoiceId);
    expect(invoice).toMatchObject({ ...paid, paymentId });
    expect(invoice.payment?.gatewayPaymentId).toMatch(/^sbx_/);
    expect(await c.moneyOf(invoiceId)).toBe(1);
    const events = (await c.t.emitted()).filter(({ data }) => JSON.stringify(data).includes(invoiceId));
    expect(events.map(({ type }) => type)).toEqual(['payment.success', 'invoice.paid', 'operation.logged']);
    expect(events.at(-1)?.data).toMatchObject({ target: `Payment(${paymentId})`, content: 'Charge: succeeded' });
  });

  it('without a card waits for its user', async () => {
    const { invoiceId } = await c.billed(await c.userWithCard());
    await c.pass(13 * hour);
    expect(await c.detail(invoiceId)).toMatchObject({ ...open, payment: { status: paymentStatus.created } });
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ attempt: 0 }]);
  });
});

describe('a soft decline', () => {
  it('fails the payment, and another is tried every twelve hours until the deadline', async () => {
    const { invoiceId, invoice } = await c.charged('declines_softly');
    expect(invoice).toMatchObject({
      ...open,
      payment: { status: paymentStatus.failed, failureReason: 'insufficient_funds' },
    });
    expect(await c.types()).toEqual(expect.arrayContaining(['payment.failure 2']));
    await c.pass(12 * hour);
    expect((await c.paymentsOf(invoiceId)).map(({ status }) => status)).toEqual(['failed', 'failed']);
    await c.pass(c.term);
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.failed });
    const links = await c.t.rows('select distinct link from payments where invoice_id = $1', [invoiceId]);
    expect(links).toEqual([{ link: invoice.link }]);
    const all = await c.paymentsOf(invoiceId);
    // three days and twenty minutes: the last attempt at 72 h
    expect(all.map(({ status, automatic }) => [status, automatic])).toEqual(
      Array.from({ length: 7 }, () => ['failed', true]),
    );
    await c.pass(13 * hour);
    expect(await c.paymentsOf(invoiceId)).toEqual(all);
    expect(await c.moneyOf(invoiceId)).toBe(0);
  });

  it('is mended by another card beside the first, which is tried at once, in the same second too', async () => {
    const { userId, invoiceId } = await c.charged('declines_softly');
    await c.card(userId, 'succeeds');
    await c.drain();
    expect(await c.detail(invoiceId)).toMatchObject(paid);
    expect(await c.paymentsOf(invoiceId)).toMatchObject([
      { status: 'failed', automatic: true },
      { status: 'success', automatic: false },
    ]);
    // a claim and its outcome are two changes, logged each by itself
    const events = await c.t.emitted();
    const logs = events.filter(({ type }) => type === 'operation.logged');
    expect(logs.map(({ data }) => data)).toContainEqual(
      expect.objectContaining({ target: `Invoice(${invoiceId})`, content: 'Open another payment' }),
    );
    const logged = logs.map(({ requestId }) => requestId);
    expect(new Set(logged).size).toBe(logged.length);
    expect(new Set(logged)).toEqual(new Set(events.map(({ requestId }) => requestId)));
  });
});

it('an invoice of a user without a card is charged once one is saved, in the same second too', async () => {
  const userId = await c.userWithCard();
  const { invoiceId } = await c.billed(userId);
  await c.drain();
  expect(await c.paymentsOf(invoiceId)).toMatchObject([{ status: 'created', attempt: 0 }]);
  await c.card(userId, 'succeeds');
  await c.drain();
  expect(await c.detail(invoiceId)).toMatchObject(paid);
});

describe('a hard decline', () => {
  it('ends automatic attempts', async () => {
    const { invoiceId, invoice } = await c.charged('declines_hard');
    expect(invoice).toMatchObject({ ...open, payment: { status: paymentStatus.failed, failureReason: 'lost_card' } });
    await c.pass(30 * hour);
    expect(await c.paymentsOf(invoiceId)).toHaveLength(1);
  });

  it('is mended by another card, with which they begin again', async () => {
    const { userId, invoiceId } = await c.charged('declines_hard');
    await c.swap(userId, 'declines_softly');
    await c.pass(13 * hour);
    expect(await c.paymentsOf(invoiceId)).toMatchObject([
      { reason: 'lost_card', automatic: true },
      { reason: 'insufficient_funds', automatic: false },
      { reason: 'insufficient_funds', automatic: true },
    ]);
  });
});

describe('a card that needs action', () => {
  const asked = async () => {
    const { invoiceId, invoice } = await c.charged('needs_action');
    return { invoiceId, reference: String(invoice.payment?.gatewayPaymentId), link: invoice.payment?.link };
  };

  it('shows a link, and is paid once its user approves', async () => {
    const { invoiceId, reference, link } = await asked();
    expect(link).toContain(`/sandbox/${reference}`);
    expect(await c.types()).toEqual(expect.arrayContaining(['payment.authorised.need 2']));
    await c.pass(13 * hour);
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ status: 'created', outcome: 'action', attempt: 1 }]);
    await c.sandbox.answer(c.account, reference, true);
    await c.drain();
    expect(await c.detail(invoiceId)).toMatchObject(paid);
  });

  it('fails once its user declines, and is tried again as scheduled', async () => {
    const { invoiceId, reference } = await asked();
    await c.sandbox.answer(c.account, reference, false);
    await c.drain();
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ status: 'failed', outcome: '' }]);
    await c.pass(12 * hour);
    expect(await c.paymentsOf(invoiceId)).toMatchObject([{ status: 'failed' }, { outcome: 'action' }]);
  });
});

describe('an unknown outcome', () => {
  it.each(['times_out_after_charging', 'times_out_before_charging'])(
    '%s: is asked for, and charged once',
    async scenario => {
      const { invoiceId, invoice } = await c.charged(scenario);
      expect(invoice).toMatchObject({ ...open, payment: { status: paymentStatus.created } });
      expect(await c.paymentsOf(invoiceId)).toMatchObject([{ outcome: 'unknown', attempt: 1 }]);
      await c.pass(2 * hour);
      expect(await c.detail(invoiceId)).toMatchObject(paid);
      expect(await c.paymentsOf(invoiceId)).toMatchObject([
        { status: 'success', outcome: '', attempt: scenario === 'times_out_after_charging' ? 1 : 2 },
      ]);
      expect(await c.moneyOf(invoiceId)).toBe(1);
    },
  );

  it('does not let the invoice expire before it is known', async () => {
    const { invoiceId } = await c.charged('calls_back_late');
    // the clock jumps past the deadline, and the gateway is silent until after it
    await c.t.rows(`update sandbox_charges set tell_time = tell_time + $1`, [c.term + 2 * hour]);
    await c.t.rows(`delete from due_work where kind = 'sandbox.callback'`);
    await c.pass(c.term + 1_200);
    expect(await c.detail(invoiceId)).toMatchObject(open);
    await c.pass(9 * hour);
    expect(await c.detail(invoiceId)).toMatchObject(paid);
  });
});

describe('callbacks', () => {
  it.each(['calls_back_twice', 'calls_back_out_of_order', 'calls_back_late'])('%s: pays once', async scenario => {
    const { invoiceId } = await c.charged(scenario);
    await c.pass(2 * hour);
    expect(await c.detail(invoiceId)).toMatchObject(paid);
    expect(await c.moneyOf(invoiceId)).toBe(1);
    expect((await c.types()).filter(type => type.startsWith('invoice.paid'))).toHaveLength(1);
    expect(await c.t.rows('select 1 from payment_surpluses')).toEqual([]);
  });

  it.each(['disputed_and_won', 'disputed_and_lost'])('%s', async scenario => {
    const { invoiceId } = await c.charged(scenario);
    await c.pass(25 * hour);
    expect(await c.t.rows('select dispute from payments where invoice_id = $1', [invoiceId])).toEqual([
      { dispute: 'open' },
    ]);
    await c.pass(8 * 24 * hour);
    const dispute = scenario === 'disputed_and_won' ? 'won' : 'lost';
    expect(await c.t.rows('select dispute from payments where invoice_id = $1', [invoiceId])).toEqual([{ dispute }]);
    const status = dispute === 'won' ? invoiceStatus.paid : invoiceStatus.reversed;
    expect(await c.detail(invoiceId)).toMatchObject({ status });
  });
});
