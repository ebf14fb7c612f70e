import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { invoiceStatus, listPaymentMethods, refundDetails, refundInvoice, refundStatus } from '@recur/contracts';
import { GatewayEvents } from '../../src/collection/gateway-events.js';
import type { GatewayEvent, GatewayOutcome } from '../../src/gateways/adapters/adapter.js';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
let ids = 0;
beforeAll(async () => {
  c = await cardShop();
});
afterAll(() => c.t.close());

const at = 1;
const fresh = () => `evt_${++ids}`;
/** Applies facts as a callback of the gateway does; returns how many log entries they wrote. */
async function apply(...facts: GatewayEvent[]): Promise<number> {
  await c.t.emitted();
  const caller = c.t.callerOf();
  await c.t.db.write(caller, async tx => {
    await c.t.app.get(GatewayEvents).apply(tx, c.gatewayId, facts, caller.requestId, at);
    return {};
  });
  return (await c.t.emitted()).filter(({ type }) => type === 'operation.logged').length;
}
const method = (gatewayUserId: string, gatewayMethodId = 'succeeds'): GatewayEvent => ({
  about: 'method',
  id: fresh(),
  at,
  gatewayUserId,
  method: { gatewayMethodId, type: 'card', data: { last4: '4242' } },
});

describe('facts of a gateway', () => {
  it('a method that the user entered on a page of it is saved once, and tried at once', async () => {
    const { userId, invoiceId } = await c.charged('declines_hard');
    c.clock.advance(1);
    await c.t.rows('delete from payment_methods where user_id = $1', [userId]);
    expect(await apply(method(`sandbox_user_${userId}`))).toBe(1);
    expect(await apply(method(`sandbox_user_${userId}`))).toBe(0);
    expect((await c.t.done(listPaymentMethods, { gatewayId: c.gatewayId, userId })).methodList).toHaveLength(1);
    await c.drain();
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid });
  });

  it('several of one callback have a log entry each', async () => {
    const [one, other] = [await c.userWithCard('succeeds'), await c.userWithCard('succeeds')];
    const facts = [one, other].map(userId => method(`sandbox_user_${userId}`, 'declines_softly'));
    expect(await apply(...facts)).toBe(2);
  });

  it('about what is not known change nothing', async () => {
    const outcome: GatewayOutcome = { is: 'succeeded', reference: 'ch_1', amount: 7_033n, currency: 'EUR' };
    const unknown: GatewayEvent[] = [
      method('nobody'),
      { about: 'charge', id: fresh(), at, idempotencyKey: 'pay_none-1', outcome },
      { about: 'charge', id: fresh(), at, idempotencyKey: 'of another system', outcome },
      { about: 'refund', id: fresh(), at, idempotencyKey: 're_none', outcome },
      { about: 'dispute', id: fresh(), at, reference: 'ch_none', amount: 1n, currency: 'EUR', state: 'lost' },
      { about: 'dispute', id: fresh(), at, reference: '', amount: 1n, currency: 'EUR', state: 'open' },
    ];
    expect(await apply(...unknown)).toBe(0);
  });

  it('a refund that the bank sent back after its success is owed to the user', async () => {
    const { invoiceId, userId } = await c.charged('succeeds');
    const { refundId } = (await c.t.done(refundInvoice, { invoiceId, refundAmount: 1_500, reason: '' })).refund;
    await c.drain();
    const failed: GatewayOutcome = { is: 'declined', kind: 'hard', reason: 'account_closed', reference: 'sbr_1' };
    const fact: GatewayEvent = { about: 'refund', id: fresh(), at, idempotencyKey: refundId, outcome: failed };
    expect(await apply(fact)).toBe(1);
    expect(await apply(fact)).toBe(0);
    expect(await apply({ ...fact, id: fresh() })).toBe(0);
    expect((await c.t.done(refundDetails, { refundId })).refundDetail.refund).toMatchObject({
      status: refundStatus.reversed,
      refundCommentExplain: 'account_closed',
    });
    const [row] = await c.t.rows(`select balance from credit_accounts where user_id = $1 and type = 'main'`, [userId]);
    expect(row).toEqual({ balance: '1500' });
  });

  it('a decline of an earlier attempt, or after the success, changes nothing', async () => {
    const { invoiceId, invoice } = await c.charged('times_out_before_charging');
    await c.pass(600);
    const declined = (attempt: number): GatewayEvent => ({
      about: 'charge',
      id: fresh(),
      at,
      idempotencyKey: `${invoice.paymentId}-${attempt}`,
      outcome: { is: 'declined', kind: 'hard', reason: 'late', reference: 'ch_9' },
    });
    expect(await apply(declined(1), declined(2))).toBe(0);
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid });
  });

  it('money of an earlier sending pays, and that of the later one becomes main credit', async () => {
    const { userId, invoiceId, invoice } = await c.charged('needs_action');
    await c.t.rows('update payments set attempt = 2 where invoice_id = $1', [invoiceId]);
    const charged = (attempt: number): GatewayEvent => ({
      about: 'charge',
      id: fresh(),
      at,
      idempotencyKey: `${invoice.paymentId}-${attempt}`,
      outcome: {
        is: 'succeeded',
        reference: `ch_${attempt}_${invoice.paymentId}`,
        amount: 7_033n,
        currency: invoice.currency,
      },
    });
    expect(await apply(charged(1))).toBe(1);
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid, surplusAmount: 0 });
    expect(await apply(charged(2))).toBe(1);
    expect(await apply(charged(2))).toBe(0);
    expect(await c.detail(invoiceId)).toMatchObject({ status: invoiceStatus.paid, surplusAmount: 7_033 });
    const [row] = await c.t.rows(`select balance from credit_accounts where user_id = $1 and type = 'main'`, [userId]);
    expect(row).toEqual({ balance: '7033' });
  });
});
